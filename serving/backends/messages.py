"""Words a request as the messages of a chat interface: roles that alternate, the person's first, and of bounded length.

For servers that word the prompt themselves. How many tokens a text takes is estimated here, on the high side; only the
server knows.
"""

import re
from collections.abc import Sequence
from dataclasses import replace

from serving.backend import BackendMisconfigured, BackendRefused, Request
from shield.assessment import Turn

Message = dict[str, str]

EARLIER = "(Earlier messages are not shown.)"
WORDLESS = "(no words)"
BEGUN = (
    "Your reply has already begun, and the person has read this beginning:\n<begun>\n{prefix}\n</begun>\n"
    "Write only what comes right after it. Do not repeat it, do not reword it, do not ask its question again."
)

_TEMPLATE_MARK = re.compile(
    r"<[|｜][^<>\n]{1,48}[|｜]>|</?s>|</?(?:bos|eos|pad|unk)>|<(?:start|end)_of_turn>|\[/?INST\]|<</?SYS>>"
    r"|\[/?(?:AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS|SYSTEM_PROMPT)\]",
    re.IGNORECASE,
)
_DEFUSED = str.maketrans({"<": "‹", ">": "›", "[": "(", "]": ")"})

MESSAGE_TOKENS = 8
"""What a template adds to each message; ChatML, the longest of the catalogue's models', takes 5."""

MIN_MESSAGE_CHARACTERS = 120
_ASCII_PER_TOKEN = 3.0  # English in Qwen2.5's, Llama 3's and Gemma 2's vocabularies: above 4
_OTHER_PER_TOKEN = 1.0


def alternating(turns: Sequence[Turn]) -> list[Message]:
    """Alternating messages, the person's first: neither blank ones nor a beginning of our own are taken everywhere."""
    messages: list[Message] = []
    for turn in turns:
        text = turn.text.strip() or (WORDLESS if turn.role == "user" else "")
        if not text:
            continue
        if messages and messages[-1]["role"] == turn.role:
            messages[-1]["content"] += f"\n\n{text}"
        else:
            messages.append({"role": turn.role, "content": text})
    if not messages or messages[0]["role"] != "user":
        messages.insert(0, {"role": "user", "content": EARLIER})
    return messages


def told_of_beginning(system: str, prefix: str) -> str:
    """The system text for a model that can't continue a given beginning: it is told of it instead."""
    return f"{system}\n\n{BEGUN.format(prefix=prefix)}".strip()


def chat(request: Request, *, prefill: bool, system_role: bool = True) -> list[Message]:
    """The whole conversation. prefill: the reply's beginning stands last, for the model to go on from."""
    system, prefix = request.system.strip(), request.prefix.rstrip()
    if prefix and not prefill:
        system = told_of_beginning(system, prefix)
    messages = alternating(request.turns)
    if system and system_role:
        messages.insert(0, {"role": "system", "content": system})
    elif system:
        messages[0]["content"] = f"{system}\n\n{messages[0]['content']}"
    if prefix and prefill:
        messages.append({"role": "assistant", "content": prefix})
    return [{**message, "content": _clean(message["content"])} for message in messages]


def fitted(request: Request, *, context: int, name: str) -> tuple[Request, int]:
    """The request with as many of its newest turns as surely fit, and how many were dropped.

    The last message loses its beginning where it alone is too long. Raises BackendRefused when not even that fits.
    """
    if not request.turns or request.turns[-1].role != "user":
        raise BackendMisconfigured(f"{name}: the last turn must be the user's")
    framing = estimate(request.system) + estimate(request.prefix) + estimate(BEGUN) + 4 * MESSAGE_TOKENS
    room = context - request.max_tokens - framing
    kept = 0
    for turn in reversed(request.turns):
        room -= estimate(turn.text) + MESSAGE_TOKENS
        if room < 0:
            break
        kept += 1
    if kept:
        return replace(request, turns=request.turns[-kept:]), len(request.turns) - kept
    last = request.turns[-1]
    end = _end_of(last.text, room + estimate(last.text))
    if len(end) < min(MIN_MESSAGE_CHARACTERS, len(last.text)):
        raise BackendRefused(f"{name}: the conversation does not fit the model's context")
    return replace(request, turns=(Turn(last.role, end),)), len(request.turns) - 1


def estimate(text: str) -> int:
    """How many tokens a text takes at most, for text that people write."""
    others = sum(not character.isascii() for character in text)
    return int((len(text) - others) / _ASCII_PER_TOKEN + others / _OTHER_PER_TOKEN) + 1


def _end_of(text: str, tokens: int) -> str:
    """The longest end of a text that is estimated at no more than so many tokens."""
    low, high = 0, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if estimate(text[len(text) - middle :]) <= tokens else (low, middle - 1)
    return text[len(text) - low :]


def _clean(text: str) -> str:
    """Half a surrogate pair in somebody's text is no reason to lose the rest. A chat template's own marks stay readable
    and lose their meaning: many servers would read them as the end of the person's turn and the beginning of another.
    """
    whole = text.encode("utf-8", "replace").decode("utf-8")
    return _TEMPLATE_MARK.sub(lambda mark: mark.group().translate(_DEFUSED), whole)
