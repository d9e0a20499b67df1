"""The replies that the filter's stage learns from: each sentence in its place, and no reply that judges it."""

import numpy as np

from eval.cases import filter_cases
from eval.training.filter_lines import kind, read, varied
from textrules.encoder import said

SPOKEN = read()


def test_no_reply_that_judges_is_learned_from() -> None:
    judged = {said(case.reply).strip(): case.id for case in filter_cases() if case.split != "develop"}
    learned = {said(f"{one.seen} {one.sentence}").strip() for one in SPOKEN}
    assert not [name for reply, name in judged.items() if len(reply) > 60 and reply in learned]


def test_another_wording_keeps_sentence_and_label_and_what_was_seen_or_leaves_it_out() -> None:
    change, ways = varied(kind()), set()
    for number, one in enumerate(SPOKEN[::100]):
        first, again = (change(one.example, np.random.default_rng((7, number))) for _ in range(2))
        assert first == again
        assert first.targets == one.example.targets
        (user, seen, sentence), (same_user, now, same_sentence) = one.example.segments, first.segments
        assert (user, sentence) == (same_user, same_sentence)
        assert not now or now.endswith(seen)
        ways.add("same" if now == seen else "kind words" if now else "alone")
    assert ways == {"same", "kind words", "alone"}


def test_kind_openings_are_there_in_the_languages_that_the_stage_reads() -> None:
    assert {"en", "es", "pt", "fr", "de"} <= set(kind())
    assert len(kind()["en"]) >= 40
