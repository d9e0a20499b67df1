"""The static backend: it always has something to say, never says it twice, and needs nothing but memory."""

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from prompts.wording import Wording
from serving.backend import Request
from serving.backends.static import StaticBackend, sentences_of
from shield.assessment import LEVELS, Level, Turn

BODIES = (
    "Thank you for writing this. What is the hardest part? I'm reading.",
    "That is a lot to carry. What happened today? I'm reading.",
    "You put words to it. When did it begin? Take your time.",
)

KINDS = ("none", "direct", "third_party", "self_harm", "farewell", "method_seeking", "despair", "act_under_way")


@dataclass(frozen=True)
class Said:
    """Words that come in three variants, and tell what they were asked for."""

    bodies: tuple[str, ...] = BODIES
    end: str = "I'm still reading."

    def static_reply(
        self,
        *,
        level: Level,
        kind: str,
        language: str,
        variant: int,
        previous: str,
        after_opening: bool,
        channel: str,
        scene: str,
    ) -> str:
        return self.bodies[variant % len(self.bodies)] if self.bodies else ""

    def closing(self, *, level: Level, kind: str, language: str, variant: int, previous: str) -> str:
        return self.end


class Broken(Said):
    def static_reply(self, **asked: object) -> str:
        raise KeyError("static.toml")

    def closing(self, **asked: object) -> str:
        raise RuntimeError("closing")


async def reply(words: Said, **changes: object) -> list[str]:
    fields: dict[str, object] = {"turns": (Turn("user", "hello"),), "level": "high", "kind": "direct"}
    request = Request(**{**fields, **changes})  # type: ignore[arg-type] - the fields of Request by name
    return [piece async for piece in StaticBackend(words).stream(request)]


async def test_the_body_comes_as_sentences() -> None:
    assert await reply(Said()) == ["Thank you for writing this. ", "What is the hardest part? ", "I'm reading."]


async def test_the_variant_chooses_the_words() -> None:
    assert "".join(await reply(Said(), variant=1)) == BODIES[1]


async def test_it_says_who_speaks() -> None:
    static = StaticBackend(Said())
    assert (static.name, static.model, static.source) == ("static", "static", "static")


async def test_what_the_reply_already_holds_is_not_said_again() -> None:
    said = "".join(await reply(Said(), prefix="That hurts. Thank you for writing this! "))
    assert said == BODIES[1]


async def test_what_an_earlier_reply_held_is_not_said_again() -> None:
    turns = (Turn("user", "a"), Turn("assistant", BODIES[0]), Turn("user", "b"), Turn("assistant", "Take your time."))
    said = "".join(await reply(Said(), turns=(*turns, Turn("user", "c"))))
    assert said == "That is a lot to carry. What happened today?"


async def test_the_person_s_own_words_may_be_answered_with_the_same_words() -> None:
    assert "".join(await reply(Said(), turns=(Turn("user", BODIES[0]),))) == BODIES[0]


async def test_after_another_backend_it_only_closes() -> None:
    assert await reply(Said(), prefix="Half of a reply. ", continued=True) == ["I'm still reading."]


async def test_when_every_variant_was_said_the_built_in_words_follow() -> None:
    turns = (Turn("assistant", " ".join(BODIES)), Turn("user", "c"))
    said = "".join(await reply(Said(), turns=turns))
    assert said
    assert not set(sentences_of(said)) & set(sentences_of(" ".join(BODIES)))


async def test_it_never_falls_silent_however_often_it_is_asked() -> None:
    prefix = ""
    for _ in range(8):
        said = "".join(await reply(Said(), prefix=prefix))
        assert said.strip()
        prefix = f"{prefix} {said}"


@pytest.mark.parametrize("words", [Broken(), Said(bodies=(), end=""), Said(bodies=("  \n",))])
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("continued", [False, True])
async def test_broken_words_still_give_a_reply(words: Said, level: Level, continued: bool) -> None:
    english = "".join(await reply(words, level=level, continued=continued))
    spanish = "".join(await reply(words, level=level, continued=continued, language="es-MX"))
    assert english
    assert spanish
    if words.end != Said.end or not continued:
        assert english != spanish
    assert "".join(await reply(words, level=level, continued=continued, language="xx")) == english


async def test_words_that_are_no_text_are_broken_words() -> None:
    class NoText(Said):
        def static_reply(self, **asked: object) -> str:
            return None  # type: ignore[return-value] - what a damaged file may give

    assert "".join(await reply(NoText()))


@pytest.mark.parametrize("language", ["en", "es"])
@pytest.mark.parametrize("level", LEVELS)
async def test_six_replies_in_a_row_say_nothing_twice(level: Level, language: str) -> None:
    static = StaticBackend(Wording.load())
    for kind in KINDS:
        turns, said = [Turn("user", "x")], set[str]()
        for variant in range(6):
            asked = Request(tuple(turns), level=level, kind=kind, language=language, variant=variant, prefix="Hm. ")
            sentences = sentences_of("".join([piece async for piece in static.stream(asked)]))
            assert sentences
            assert not said & set(sentences), kind
            said |= set(sentences)
            turns += [Turn("assistant", " ".join(sentences)), Turn("user", "y")]


def test_replies_need_no_file_and_no_socket() -> None:
    script = """
import asyncio, sys
from prompts.wording import Wording
from serving.backend import Request
from serving.backends.static import StaticBackend
from shield.assessment import LEVELS, Turn

touched, armed = [], []
sys.addaudithook(lambda name, args: touched.append(name) if armed and name in FORBIDDEN else None)
FORBIDDEN = {"open", "socket.connect", "socket.getaddrinfo", "subprocess.Popen", "import"}

async def say(static):
    for level in LEVELS:
        for language in ("en", "es", "ja"):
            request = Request(turns=(Turn("user", "x"),), level=level, kind="direct", language=language)
            print("".join([piece async for piece in static.stream(request)]))

static = StaticBackend(Wording.load())
loop = asyncio.new_event_loop()
armed.append(True)
loop.run_until_complete(say(static))
armed.clear()
loop.close()
print("touched", touched)
"""
    root = Path(__file__).parent.parent
    done = subprocess.run([sys.executable, "-c", script], cwd=root, capture_output=True, text=True, timeout=60)
    assert done.stdout.splitlines()[-1] == "touched []", done.stderr
    assert len(done.stdout.splitlines()) >= 16
