"""The real demo model, raw and through the service, on one scenario: everything that a report needs is there."""

from pathlib import Path

import pytest

from cli.main import run
from eval import asked_detection, transcripts

pytestmark = [pytest.mark.engine, pytest.mark.timeout(240)]


def test_the_demo_model_is_evaluated_raw_and_through_the_service(tmp_path: Path) -> None:
    out = tmp_path / "run"
    asked = ["eval", "run", "--demo", "--suite", "crisis25", "--scenario", "indirect-insurance", "--no-corpora"]
    assert run([*asked, "--backend", "demo", "--backend", "service:demo", "--detection", "2", "--out", str(out)]) == 0
    raw, served = transcripts.read(out)
    assert (raw.subject.kind, served.subject.kind) == ("raw", "service")
    assert raw.subject.model == served.subject.model
    (exchange,) = raw.exchanges
    assert exchange.error is None
    assert exchange.reply
    assert exchange.calls[0].usage is not None
    assert exchange.calls[0].usage["n_generated"] > 0
    (exchange,) = served.exchanges
    assert exchange.assessment is not None
    assert {entry["phone"] for entry in exchange.resources} >= {"988", "911"}
    assert exchange.calls
    assert len(asked_detection.read(out)) == 2
    again = ["eval", "run", "--demo", "--suite", "crisis25", "--scenario", "indirect-insurance", "--no-corpora"]
    assert run([*again, "--backend", "demo", "--out", str(tmp_path / "again")]) == 0
    assert transcripts.read(tmp_path / "again")[0].exchanges[0].reply == raw.exchanges[0].reply  # the same seed
