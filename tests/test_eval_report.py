"""What is made of report.json: nothing of a person's text becomes markup, failures come first, XML can be read."""

import json
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import eval_sample
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eval import transcripts
from eval.intervals import wilson
from eval.report import figures, junit, page, plots, summary, writing
from eval.report.detection import Detection
from eval.report.figures import Found, Rate, ReportError, Summary
from eval.report.highlight import marked
from eval.report.markup import Html, element
from eval.report.pairs import pairs


def parsed(text: str) -> ElementTree.Element:
    return ElementTree.fromstring(text)  # noqa: S314 - what this project wrote itself


HOSTILE = '<script>alert("x")</script>'


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return eval_sample.write(tmp_path_factory.mktemp("run"))


def test_every_key_of_a_real_report_is_read(run: Path):
    report = figures.read(run)
    raw = json.loads((run / "report.json").read_text())
    service = report.subjects[0].suites["crisis25"]
    assert report.run.complete
    assert service.passed.hits == raw["subjects"][0]["suites"]["crisis25"]["passed"]["hits"]
    assert service.checks["no-harm"].passed == raw["subjects"][0]["suites"]["crisis25"]["checks"]["no-harm"]["pass"]
    assert len(report.conversations) == 18
    assert {one.key for one in report.conversations} == {one.key for one in transcripts.read(run)}
    assert report.gates


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"run": {}}, "run.id: field required"),
        ({"format": 2}, "format 2 is not 1"),
        ({"gates": [{"name": "x"}]}, r"gates\.0\.outcome: field required"),
        ({"subjects": 3}, "subjects"),
    ],
)
def test_a_report_that_can_not_be_used_says_which_key(tmp_path: Path, run: Path, change: dict[str, object], told: str):
    values = json.loads((run / "report.json").read_text()) | change
    (tmp_path / "report.json").write_text(json.dumps(values))
    with pytest.raises(ReportError, match=rf"report\.json: .*{told}"):
        figures.read(tmp_path)


@pytest.mark.parametrize("text", ["", "{", "[]", "\x00"])
def test_a_file_that_is_no_report_is_one_clear_error(tmp_path: Path, text: str):
    (tmp_path / "report.json").write_text(text)
    with pytest.raises(ReportError, match=r"report\.json: "):
        figures.read(tmp_path)


def test_a_folder_without_a_report_says_how_to_make_one(tmp_path: Path):
    with pytest.raises(ReportError, match="crisis eval report --run"):
        figures.read(tmp_path)


def test_nobodys_words_become_markup(tmp_path: Path):
    told = [eval_sample.saying(one, f"{HOSTILE} & <img src=x onerror=alert(1)>") for one in eval_sample.had(count=2)]
    folder = eval_sample.write(tmp_path, told)
    text = page.render(figures.read(folder), transcripts.read(folder))
    assert "<script" not in text
    assert "<img" not in text
    assert "&lt;script&gt;alert(&quot;x&quot;)&lt;/script&gt;" in text


@given(st.text())
def test_whatever_a_text_is_its_markup_is_escaped(words: str):
    made = element("p", words, title=words)
    assert (made.count("<"), made.count(">"), made.count('"')) == (2, 2, 2)


@given(st.text(max_size=40), st.lists(st.tuples(st.integers(-5, 60), st.integers(-5, 60)), max_size=5))
def test_highlighting_changes_no_text_wherever_the_spans_are(reply: str, spans: list[tuple[int, int]]):
    found = [Found("no-harm", "harm", "fail", "why", (span,)) for span in spans]
    root = parsed(f"<p>{_plain(marked(reply, found))}</p>")
    for mark in root.iter("mark"):
        for sup in mark.findall("sup"):
            mark.remove(sup)  # the number of the finding; nothing stands behind it
    assert "".join(root.itertext()) == _plain(reply)


def _plain(text: str) -> str:
    return "".join(character if character.isprintable() else "?" for character in text)


def test_a_place_is_marked_with_the_number_of_its_finding():
    found = [Found("a", "harm", "fail", "why", ((0, 3),)), Found("b", "form", "fail", "why", ((2, 5),))]
    text = marked("abcdefg", found)
    assert text.count("<mark") == 3
    assert '<mark title="a, b">c<sup aria-label="finding 1, 2">1, 2</sup></mark>' in text
    assert text.endswith("fg")


def test_the_junit_file_counts_what_it_holds_and_names_every_check(run: Path):
    report = figures.read(run)
    root = parsed(junit.render(report))
    cases = root.findall(".//testcase")
    assert int(root.get("tests", "")) == len(cases)
    assert int(root.get("failures", "")) == len(root.findall(".//failure")) > 0
    one = next(
        case
        for case in cases
        if case.get("name") == "direct-teenager · no-harm" and "demo" in case.get("classname", "")
    )
    assert one.find("failure") is not None
    assert "crisis eval run" in (one.findtext("failure") or "")
    seeds = [each.get("value") for each in one.findall("properties/property") if each.get("name") == "seed"]
    assert seeds == ["1"]
    names = {(case.get("classname"), case.get("name")) for case in cases}
    assert len(names) == len(cases)
    for subject in report.subjects:
        checks = subject.suites["crisis25"].checks
        own = [case for case in cases if case.get("classname") == f"crisis25.{subject.name}"]
        assert len(own) == 6 * len(checks)


def test_a_failure_in_the_report_is_a_failure_in_junit(run: Path):
    report = figures.read(run)
    expected = sum(len({found.check for _, found in one.findings}) for one in report.conversations)
    gates = sum(gate.outcome != "pass" for gate in report.gates)
    root = parsed(junit.render(report))
    assert len(root.findall(".//failure")) + len(root.findall(".//error")) == expected + gates


@given(st.text())
def test_junit_can_be_read_whatever_a_finding_says(why: str):
    gate = figures.GateLine(name=why, outcome="fail", limit=why, why=why)
    about = figures.RunAbout(id="r", started_at="2026-11-22T03:00:00Z", planned=0, done=0, complete=True)
    root = parsed(junit.render(figures.Report(about, (), (gate,), ())))
    assert root.get("failures") == "1"


def test_an_unfinished_run_is_an_error_everywhere(tmp_path: Path, run: Path):
    values = json.loads((run / "report.json").read_text())
    values["run"] |= {"complete": False, "done": 17}
    (tmp_path / "report.json").write_text(json.dumps(values))
    report = figures.read(tmp_path)
    assert summary.render(report).startswith("### Evaluation: unfinished, 17 of 18")
    assert 'name="the run is complete"' in junit.render(report)
    assert "Unfinished: 17 of 18 conversations" in page.render(report, ())


def test_the_summary_is_short_and_begins_with_what_failed(run: Path):
    report = figures.read(run)
    text = summary.render(report)
    assert report.failed_gates
    assert text.startswith(f"### Evaluation: {len(report.failed_gates)} of {len(report.gates)} gates failed")
    assert text.index(report.failed_gates[0].name) < text.index("| crisis25 |")
    assert len(text.splitlines()) < 80
    assert "| demo raw | " in text


def test_nothing_in_a_summary_mentions_people_or_breaks_a_table(run: Path):
    where = figures.Where("s", "a|b", 0, "@everyone <b>`x` [l](u)", "crisis eval run `x`", 0)
    gate = figures.GateLine(name="n", outcome="fail", limit="<= 0", where=(where,) * 9)
    report = figures.read(run)
    text = summary.render(figures.Report(report.run, (), (gate,), ()))
    assert r"\@everyone \<b\>\`x\` \[l\](u)" in text
    assert "and 4 more" in text


def test_without_a_gate_nothing_says_that_all_is_well(run: Path):
    report = figures.read(run)
    bare = figures.Report(report.run, report.subjects, (), report.conversations, report.client)
    assert "no gate was checked" in summary.render(bare)
    assert "No gate was checked" in page.render(bare, ())


def test_the_files_are_written_beside_the_report(run: Path):
    assert [file.name for file in writing.write(run)] == ["report.html", "junit.xml", "summary.md"]
    assert all(file.stat().st_size > 500 for file in run.glob("[rjs]*.[hxm]*"))


def test_the_clients_figures_are_marked_and_no_score_is_invented(run: Path):
    text = page.render(figures.read(run), transcripts.read(run))
    assert text.count('class="theirs"') >= 20
    assert text.count("client&#x27;s figure") >= 20
    assert text.count(">unscored<") >= 3  # no judge was set


def test_raw_stands_beside_the_service_of_the_same_model(run: Path):
    names = [(raw.name, served.name) for raw, served in pairs(figures.read(run).subjects)]
    assert names == [("demo", "service")]


def test_the_total_claims_no_more_than_its_scenarios_can(run: Path):
    for subject in figures.read(run).subjects:
        suite = subject.suites["crisis25"]
        assert suite.total.of == 3 * suite.follows_protocol.of
        low, high = wilson(suite.total.hits / 3, suite.follows_protocol.of)
        assert (suite.total.low, suite.total.high) == (pytest.approx(low, abs=1e-4), pytest.approx(high, abs=1e-4))


def test_f1_is_made_of_counts_and_missing_corpora_of_nothing():
    found = {"hits": 8, "of": 10}
    counts = {
        "detection": {
            "splits": {"report": {"figures": {"crisis_recall": found, "false_alarms": {"hits": 1, "of": 20}}}}
        }
    }
    made = Detection.of(counts)
    assert made is not None
    assert made.f1 == pytest.approx(16 / 19)
    assert (made.false_negatives.hits, made.false_negatives.of) == (2, 10)
    assert (made.false_positives.hits, made.false_positives.of) == (1, 20)
    assert Detection.of(None) is None
    assert Detection.of({"detection": {}}) is None


@given(st.lists(st.floats(min_value=0, max_value=1e6), max_size=30))
def test_every_measurement_is_in_a_distribution(values: list[float]):
    drawing = plots.distribution("t", {"a": values} if values else {}, {"a": Summary(len(values), 1, 2, 3, 4)})
    root = parsed(drawing.svg())
    bars = [one for one in root.iter("rect") if one.get("class") == "bar"]
    assert bool(bars) == bool(values)
    assert all(0 <= float(one.get("x", "-1")) <= 360 for one in bars)


def test_drawings_say_in_words_what_they_show():
    rate = Rate(3, 5, 0.6, 0.23, 0.88)
    nothing = Rate(0, 0, None, 0, 1)
    assert "Self-harm, service: 3/5 (23 % to 88 %)" in plots.bars("t", {"Self-harm": {"service": rate}}).told
    assert "nothing tried" in plots.bars("t", {"Self-harm": {"service": nothing}}).told
    levels = {"high": {"low": 2, "high": 5}}
    drawing = plots.matrix("t", levels)
    assert "2 that called for high were given low" in drawing.told
    assert sum('class="count"' in one for one in drawing.shapes) == 2
    assert "raw 60 %, through the service –" in plots.beside("t", {"a": rate}, {"a": nothing}).told


def test_markup_that_was_not_built_here_is_text():
    assert element("p", "<b>", Html("<i></i>")) == "<p>&lt;b&gt;<i></i></p>"
