"""The engine benchmark's own logic: what counts, who is out, and what is said of the aims."""

from collections.abc import Sequence
from typing import Any

import pytest

from eval.bench.contenders import TOGETHER, Contender
from eval.bench.contest import SITUATIONS, Contest, Record, Run
from eval.bench.stand_in import LEVEL, REPLY, Barrier, Question, cut, messages, system, words
from eval.bench.talk import Broken
from eval.bench.verdicts import aims, figures, table
from prompts.protocol import protocol_prefix, urgent_notes

TOKENS = 10


def record(name: str, *, overheads: Sequence[float], together: float = 1.0) -> Record:
    made = Record(name)
    made.first = {"cold": [10.0, 12.0], "cached": [0.9, 1.1], "protocol": [2.0]}
    made.bare_first = {"cold": [10.0], "cached": [1.0]}
    made.together = {what: [together] for what in SITUATIONS}
    made.bare = {1: [Run(1.0, (0.1,), TOKENS) for _ in overheads]}
    made.path = {1: [Run(1.0 + more, (0.1,), TOKENS) for more in overheads]}
    return made


def verdict(rows: list[dict[str, Any]], what: str) -> dict[str, Any]:
    (found,) = [aim for aim in aims(rows) if what in aim["what"]]
    return found


def test_a_ratio_is_taken_pair_by_pair_and_told_with_its_doubt() -> None:
    sure = figures(record("llama_cpp", overheads=[0.01, 0.011, 0.009, 0.01, 0.012]), TOKENS)
    torn = figures(record("llama_server", overheads=[-0.1, 0.2, 0.01, 0.3, -0.2]), TOKENS)
    few = figures(record("claude", overheads=[0.01]), TOKENS)
    assert sure["at_once"]["1"]["bare_tokens_per_s"]["median"] == TOKENS
    told = verdict([sure], "path over the bare")
    assert (told["met"], told["certain"], told["pairs"]) == (True, True, 5)
    assert not verdict([torn], "path over the bare")["certain"]
    assert not verdict([few], "path over the bare")["certain"], "one pair proves nothing"
    assert verdict([sure], "cached over cold") == {
        "what": "llama_cpp: first token, cached over cold", "value": 0.0909, "at_most": 0.1, "met": True,
    }  # fmt: skip


def test_four_at_once_are_compared_situation_by_situation() -> None:
    rows = [
        figures(record("llama_cpp", overheads=[0.0], together=8.0), TOKENS),
        figures(record("llama_server", overheads=[0.0], together=2.0), TOKENS),
    ]
    found = [aim for aim in aims(rows) if f"{TOGETHER} at once" in aim["what"] and "slowest" in aim["what"]]
    assert [aim["value"] for aim in found] == [0.25] * len(SITUATIONS)
    lines = table(rows, (1, 2)).splitlines()
    assert "8000 / 8000 / 8000" in lines[1]
    assert lines[1].split()[0] == "llama_cpp"


class Host:
    """The process of a contender that breaks at its nth question."""

    def __init__(self, *, breaks_at: int) -> None:
        self.left = breaks_at

    def ask(self, message: dict[str, Any]) -> dict[str, Any]:
        self.left -= 1
        if self.left < 0:
            raise Broken("host: it fell over")
        return {"wall_s": 1.0, "heard": [{"first_s": 0.5, "pieces": 2} for _ in message["ask"]]}


def test_an_engine_that_breaks_is_out_with_its_reason_and_the_others_go_on() -> None:
    said: list[str] = []

    def bare(questions: Sequence[Question]) -> dict[str, Any]:
        return {"wall_s": 1.0, "heard": [{"first_s": 0.4, "pieces": 2} for _ in questions]}

    both = [
        Contender(name, Host(breaks_at=most), bare, None, keeps=False)  # type: ignore[arg-type] # all that is asked of it
        for name, most in (("frail", 1), ("sound", 100))
    ]
    contest = Contest(counts=(), tokens=TOKENS, rounds=2, fresh=1, say=said.append)
    with pytest.raises(ValueError, match="max"):
        contest.hold(both)  # nobody asked for any number of conversations
    frail, sound = Contest((1,), TOKENS, 0, 1, said.append).hold(both)
    assert (frail.broken, sound.broken) == ("", "")
    for contender in both:
        contender.host.left = 0 if contender.name == "frail" else 100  # type: ignore[attr-defined] # our own Host
    frail, sound = Contest((1,), TOKENS, 0, 1, said.append).hold(both)
    assert (frail.broken, sound.broken) == ("host: it fell over", "")
    assert "frail is out: host: it fell over" in said


def test_what_is_asked_is_what_the_service_asks() -> None:
    assert system("imminent") == protocol_prefix() + urgent_notes(language="en")
    assert system().startswith(protocol_prefix())
    cold, usual = Question("x", 5, cold=True).request(), Question("x", 5).request()
    assert not cold.system.startswith(protocol_prefix())
    assert (usual.level, usual.protocol_prefix) == (LEVEL, protocol_prefix())
    texts = messages()
    assert len({next(texts) for _ in range(500)}) == 500
    assert {"Thank", "reading", "telling"} & set(words()), "our openings' words are single tokens in a replica"


def test_a_reply_in_pieces_is_the_reply() -> None:
    for count in (1, 7, 32, 120):
        pieces = list(cut(REPLY, count))
        assert "".join(pieces) == REPLY
        assert len(pieces) == count
    begun = Barrier(2)
    begun.one()
    assert not begun.over
    begun.one()
    assert begun.over
