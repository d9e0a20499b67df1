"""The report in a real Chromium: drawings, transcripts, a phone, the dark, and nothing that leaves the file."""

import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import eval_sample
import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from eval.report import writing

pytestmark = pytest.mark.browser

FLAGS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
]  # fmt: skip
PHONE = {"width": 390, "height": 844}
DESK = {"width": 1280, "height": 900}
HOSTILE = "<script>window.ran = 1</script><img src='https://example.invalid/x.png' onerror='window.ran = 1'>"


@dataclass(slots=True)
class Visit:
    """The page, and what it did that a page must not."""

    page: Page
    faults: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if program is None:
        pytest.skip("no Chromium on this machine: install it with `apt-get install chromium`")
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=program, args=FLAGS)
        yield chromium
        chromium.close()


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run in which one person and one model write markup."""
    first, *others = eval_sample.had()
    folder = eval_sample.write(tmp_path_factory.mktemp("run"), [eval_sample.saying(first, HOSTILE), *others])
    return writing.write(folder)[0]


def opened(browser: Browser, file: Path, **options: Any) -> Visit:
    context = browser.new_context(viewport=options.pop("viewport", DESK), **options)
    context.set_default_timeout(5_000)
    visit = Visit(context.new_page())
    visit.page.on("console", lambda said: visit.faults.append(said.text) if said.type in {"error", "warning"} else None)
    visit.page.on("pageerror", lambda error: visit.faults.append(str(error)))
    visit.page.on("request", lambda request: visit.requests.append(request.url))
    visit.page.goto(file.as_uri())
    return visit


@pytest.fixture
def visit(browser: Browser, file: Path) -> Iterator[Visit]:
    visit = opened(browser, file)
    yield visit
    visit.page.context.close()
    assert visit.faults == []
    assert visit.requests == [file.as_uri()]


def test_the_drawings_are_drawn_and_told_in_words(visit: Visit):
    page = visit.page
    drawings = page.locator("svg.plot")
    titles = page.eval_on_selector_all("svg.plot title", "all => all.map(e => e.textContent)")
    assert {"demo: raw, and through the service", "By category", "Levels · service", "Whole reply"} <= set(titles)
    boxes = page.eval_on_selector_all("svg.plot", "all => all.map(e => e.getBoundingClientRect().height)")
    assert min(boxes) > 60
    assert page.locator("svg .bar").count() > 10
    assert page.locator("svg .cell.right").count() == 5
    for place in range(drawings.count()):
        drawing = drawings.nth(place)
        assert drawing.get_attribute("role") == "img"
        assert len(drawing.get_attribute("aria-label") or "") > 30
    fill = page.eval_on_selector("svg .bar", "e => getComputedStyle(e).fill")
    assert fill not in {"none", "rgb(0, 0, 0)"}  # the style was not refused by the policy


def test_a_transcript_opens_and_its_findings_are_marked(visit: Visit):
    page = visit.page
    one = page.locator("#transcripts details", has_text="selfharm-nurse · demo").first
    assert not one.locator(".reply").first.is_visible()
    one.locator("summary").click()
    assert one.locator(".reply").first.is_visible()
    assert one.locator("mark").count() > 0
    assert "no-harm" in one.locator("ol.found").first.inner_text()
    assert "crisis eval run" in one.locator("pre").inner_text()


def test_markup_that_somebody_wrote_is_shown_and_does_nothing(visit: Visit):
    page = visit.page
    shown = page.locator(".reply").evaluate_all("all => all.map(e => e.textContent)")
    assert any("<script>window.ran = 1" in text for text in shown)
    assert page.evaluate("window.ran") is None
    assert page.locator("img, script").count() == 0


def test_the_policy_would_stop_a_script_and_a_request(browser: Browser, file: Path, tmp_path: Path):
    tampered = tmp_path / "report.html"
    text = file.read_text().replace("</body>", f"{HOSTILE}</body>")
    tampered.write_text(text.replace("<h1>", "<h1 style='color: red'>"))
    visit = opened(browser, tampered)
    assert visit.page.evaluate("window.ran") is None
    assert visit.page.eval_on_selector("h1", "e => getComputedStyle(e).color") != "rgb(255, 0, 0)"
    assert (
        len([one for one in visit.faults if "Content Security Policy" in one or "content security" in one.lower()]) >= 2
    )
    visit.page.context.close()


def test_passed_conversations_can_be_left_out_without_a_script(visit: Visit):
    page = visit.page
    failed = page.locator("#transcripts details.fail, #transcripts details.error").count()
    page.evaluate("document.querySelector('#transcripts details').className = 'pass'")
    page.get_by_label("Show only what did not pass").check()
    assert page.locator("#transcripts details:visible").count() == failed - 1
    assert page.locator("#transcripts details.pass:visible").count() == 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_on_a_phone_nothing_is_wider_than_the_screen(browser: Browser, file: Path, scheme: Any):
    visit = opened(browser, file, viewport=PHONE, color_scheme=scheme, has_touch=True)
    visit.page.eval_on_selector_all("details", "all => all.forEach(e => e.open = true)")
    assert visit.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    sizes = visit.page.eval_on_selector_all(
        "svg.plot text", "all => all.map(e => parseFloat(getComputedStyle(e).fontSize) * e.getScreenCTM().a)"
    )
    assert min(sizes) >= 10
    heights = visit.page.eval_on_selector_all("summary, .choose", "all => all.map(e => e.offsetHeight)")
    assert min(heights) >= 44
    assert visit.faults == []
    visit.page.context.close()


def test_a_phone_stacks_the_tables_and_shows_every_cell_whole(browser: Browser, file: Path):
    visit = opened(browser, file, viewport=PHONE)
    cut = visit.page.eval_on_selector_all(
        ".wide, .wide td, .wide tbody th", "all => all.filter(e => e.scrollWidth > e.clientWidth + 1).length"
    )
    assert cut == 0
    why = visit.page.locator("#gates tbody td[data-title=Why]")
    assert why.count() > 0
    assert min(why.evaluate_all("all => all.map(e => e.clientWidth)")) > 300
    shown = why.first.evaluate("e => getComputedStyle(e, '::before').content")
    assert shown == '"Why"'
    assert visit.page.locator("#gates").get_by_role("cell").count() > 4
    assert visit.faults == []
    visit.page.context.close()


def test_a_table_that_goes_on_behind_the_edge_shows_a_shadow_there(browser: Browser, file: Path):
    visit = opened(browser, file, viewport={"width": 520, "height": 844})
    hint = "all => all.every(e => getComputedStyle(e).backgroundAttachment.includes('local'))"
    assert visit.page.eval_on_selector_all(".wide", hint)
    visit.page.context.close()


CONTRAST = """
() => {
  const rgb = (text) => text.match(/[\\d.]+/g).map(Number);
  const light = (c) => c.slice(0, 3).map((v) => v / 255)
    .map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const behind = (e) => {
    for (; e; e = e.parentElement) {
      const colour = rgb(getComputedStyle(e).backgroundColor);
      if (colour.length === 3 || colour[3] > 0) return colour;
    }
    return [255, 255, 255];
  };
  return [...document.querySelectorAll("body *")].filter(
    (e) => [...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim()) && !e.closest("title, desc"))
  .map((e) => {
    const own = e.closest("svg") ? getComputedStyle(e).fill : getComputedStyle(e).color;
    const [a, b] = [light(rgb(own)), light(behind(e.closest("svg") || e))].sort((x, y) => y - x);
    return [(a + 0.05) / (b + 0.05), e.tagName + "." + (e.getAttribute("class") || "")];
  });
}
"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_text_has_enough_contrast(browser: Browser, file: Path, scheme: Any):
    visit = opened(browser, file, color_scheme=scheme)
    visit.page.eval_on_selector_all("details", "all => all.forEach(e => e.open = true)")
    measured = visit.page.evaluate(CONTRAST)
    assert len(measured) > 300
    assert {row[1]: row[0] for row in measured if row[0] < 4.5} == {}
    visit.page.context.close()


def test_it_can_be_read_by_ear_and_by_keyboard(visit: Visit):
    page = visit.page
    assert page.get_attribute("html", "lang") == "en"
    assert page.locator("h1").count() == 1
    assert page.locator("main").count() == 1
    levels = page.eval_on_selector_all("h1, h2, h3", "all => all.map(e => Number(e.tagName[1]))")
    assert all(after - before <= 1 for before, after in pairwise(levels))
    ids = page.eval_on_selector_all("[id]", "all => all.map(e => e.id)")
    assert len(ids) == len(set(ids))
    links = page.eval_on_selector_all("nav a", "all => all.map(e => e.getAttribute('href').slice(1))")
    assert set(links) <= set(ids)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.tagName") == "A"
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
