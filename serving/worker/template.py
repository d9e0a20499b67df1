"""A model's own chat template, rendered into segments so that nobody can type a control token.

The template is rendered with a mark in place of each message; the text between the marks is the template's own and may
hold control tokens, the messages' text never does: "<|im_end|>" in a message stays ten harmless characters.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from jinja2 import TemplateError
from jinja2.ext import loopcontrols
from jinja2.sandbox import ImmutableSandboxedEnvironment

_MARK = re.compile("\ue000(\\d+)\ue001")  # private-use characters: no template has or trims them


class TemplateRejected(Exception):
    """The template cannot render this conversation, or leaves a message out."""


@dataclass(frozen=True, slots=True)
class Message:
    """A message whose text comes in parts, each tokenised by itself (so that equal parts give equal tokens)."""

    role: str
    parts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Segment:
    """A stretch of the prompt. message: the index of the message it belongs to, -1 for the template's own text."""

    text: str
    message: int = -1

    @property
    def control(self) -> bool:
        return self.message < 0


class ChatTemplate:
    """`system_role`: whether the model takes a system message; without one it is folded into the first user turn."""

    def __init__(self, source: str, *, bos: str = "", eos: str = "", system_role: bool | None = None) -> None:
        environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=[loopcontrols])
        try:
            self._template = environment.from_string(source)
        except TemplateError as exc:
            raise TemplateRejected("not a template") from exc
        self._names = {"bos_token": bos, "eos_token": eos, "raise_exception": _reject, "tools": None}
        self.system_role = self._takes("system", "user") if system_role is None else system_role
        self._opens_with_assistant = self._takes("assistant", "user")
        self.segments([Message("user", ("x",))])

    def segments(self, messages: Sequence[Message]) -> list[Segment]:
        """The prompt up to the place where the assistant's text begins. Message indices are those of `messages`."""
        rendered = self._render([message.role for message in messages])
        pieces = _MARK.split(rendered)  # template, index, template, index, …, template
        if pieces[1::2] != [str(index) for index in range(len(messages))]:
            raise TemplateRejected("a message is left out or out of order")
        segments = [Segment(pieces[0])]
        for index, after in enumerate(pieces[2::2]):
            segments += [Segment(part, index) for part in messages[index].parts]
            segments.append(Segment(after))
        return [segment for segment in segments if segment.text]

    def arrange(self, system: tuple[str, ...], turns: Sequence[tuple[str, str]]) -> list[Message]:
        """The conversation as this template takes it: turns of one role joined, the system folded where it must be."""
        messages: list[Message] = []
        for role, text in turns:
            if messages and messages[-1].role == role:
                messages[-1] = Message(role, (*messages[-1].parts, "\n\n" + text))
            elif messages or role == "user" or self._opens_with_assistant:
                messages.append(Message(role, (text,)))
        if not any(system):
            return messages
        if self.system_role:
            return [Message("system", system), *messages]
        if messages[0].role != "user":  # a template without system role that lets the assistant begin
            return [Message("user", system), *messages]
        return [Message("user", (*system, "\n\n", *messages[0].parts)), *messages[1:]]

    def _takes(self, *roles: str) -> bool:
        try:
            rendered = self._render(roles)
        except TemplateRejected:
            return False
        return _MARK.findall(rendered) == [str(index) for index in range(len(roles))]

    def _render(self, roles: Sequence[str]) -> str:
        messages: list[dict[str, Any]] = [
            {"role": role, "content": f"\ue000{index}\ue001"} for index, role in enumerate(roles)
        ]
        try:
            return self._template.render(messages=messages, add_generation_prompt=True, **self._names)
        except (TemplateError, TypeError, ValueError, LookupError) as exc:
            raise TemplateRejected("the template refused") from exc


def _reject(message: str) -> NoReturn:
    raise TemplateError(message)
