"""The page, in a real Chromium: help first, by keyboard and by ear, on a phone, in the dark, and without scripts."""

import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import httpx
import pytest
from http_fakes import LINES, OPENING, FakeResponder
from http_server import running
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

from serving.http.app import create_app
from serving.http.service import HttpOptions
from serving.keys import hashed

pytestmark = pytest.mark.browser

FLAGS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
]  # fmt: skip
PHONE = {"width": 360, "height": 740}
DESK = {"width": 1280, "height": 900}
WORDS = "I can't do this any more."


@dataclass(slots=True)
class Visit:
    """A page, and what it did that a page must not."""

    page: Page
    url: str
    faults: list[str] = field(default_factory=list)

    def say(self, words: str) -> None:
        self.page.fill("#message", words)
        self.page.press("#message", "Enter")

    def wait_for_done(self, answers: int = 1) -> None:
        self.page.locator(".source").nth(answers - 1).wait_for()


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if program is None:
        pytest.skip("no Chromium on this machine: install it with `apt-get install chromium`")
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=program, args=FLAGS)
        yield chromium
        chromium.close()


@pytest.fixture
def fake() -> FakeResponder:
    return FakeResponder()


@pytest.fixture
def server(fake: FakeResponder) -> Iterator[str]:
    with running(create_app(fake, HttpOptions())) as url:
        yield url


def opened(context: BrowserContext, url: str) -> Visit:
    visit = Visit(context.new_page(), url)
    visit.page.on("console", lambda said: visit.faults.append(said.text) if said.type in {"error", "warning"} else None)
    visit.page.on("pageerror", lambda error: visit.faults.append(str(error)))
    visit.page.on("request", lambda r: None if r.url.startswith(url) else visit.faults.append(f"external: {r.url}"))
    visit.page.goto(url)
    return visit


@pytest.fixture
def visit(browser: Browser, server: str) -> Iterator[Visit]:
    context = browser.new_context(viewport=DESK)  # type: ignore[arg-type]  # a plain dict
    context.set_default_timeout(5_000)
    visit = opened(context, server)
    yield visit
    context.close()
    assert visit.faults == []


def test_it_loads_with_resources_already_in_it(visit: Visit):
    assert visit.page.get_by_role("link", name="Call 988").get_attribute("href") == "tel:988"
    assert visit.page.get_by_role("link", name="Text HOME to 741741").get_attribute("href") == "sms:741741?body=HOME"
    assert visit.page.get_by_role("link", name="Call 911").get_attribute("href") == "tel:911"


def test_nothing_is_asked_of_other_hosts_and_the_policy_would_not_let_it(visit: Visit, server: str):
    policy = httpx.get(server).headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    for name in ("index.html", "page.css", "page.js"):
        text = Path("serving/http/page", name).read_text()
        assert not re.search(r"(src|href|url\()\s*=?\s*[\"']?(https?:)?//", text)


def test_a_message_sent_by_keyboard_gets_help_first_and_then_words(visit: Visit, fake: FakeResponder):
    fake.script = (2.0, OPENING, 0.3, LINES)
    page = visit.page
    page.focus("#message")
    page.keyboard.type(WORDS)
    page.keyboard.press("Enter")
    link = page.wait_for_selector(".turn.assistant a[href='tel:988']")
    assert link is not None
    assert page.inner_text(".turn.assistant .text") == ""  # help is there, and no word yet
    page.wait_for_selector(".turn.assistant .text span")
    assert OPENING.strip() in page.inner_text(".turn.assistant .text")
    visit.wait_for_done()
    assert page.inner_text(".turn.assistant .text") == OPENING + LINES
    assert page.inner_text(".turn.user .text") == WORDS
    assert page.input_value("#message") == ""
    order = page.eval_on_selector(".turn.assistant", "turn => [...turn.children].map(child => child.className)")
    assert order == ["who", "ways", "text", "small source"]


def test_a_long_reply_stands_in_parts_and_its_numbers_begin_one(visit: Visit, fake: FakeResponder):
    said = [
        "It hurts a great deal to miss somebody that much, and you have been carrying it by yourself. " * 2,
        "Who is near?",
        " You can call 988.",
    ]
    fake.script = (*said, " I'm an AI.")
    visit.say(WORDS)
    visit.wait_for_done()
    parts = visit.page.locator(".turn.assistant .part")
    assert [part.strip() for part in parts.all_inner_texts()] == ["Who is near?", "You can call 988."]
    assert visit.page.text_content(".turn.assistant .text") == "".join(said) + " I'm an AI."


def test_shift_and_enter_make_a_new_line_and_send_nothing(visit: Visit, fake: FakeResponder):
    visit.page.focus("#message")
    visit.page.keyboard.type("one")
    visit.page.keyboard.press("Shift+Enter")
    visit.page.keyboard.type("two")
    assert visit.page.input_value("#message") == "one\ntwo"
    assert fake.seen == []


def test_the_conversation_goes_on_and_lives_in_the_page_only(visit: Visit, fake: FakeResponder):
    visit.say("first")
    visit.wait_for_done()
    visit.say("second")
    visit.wait_for_done(2)
    assert [turn.role for turn in fake.seen[1].turns] == ["user", "assistant", "user"]
    assert fake.seen[0].id == fake.seen[1].id
    stored = "[localStorage.length, sessionStorage.length, document.cookie]"
    assert visit.page.evaluate(stored) == [0, 0, ""]
    visit.page.reload()
    assert visit.page.locator(".turn").count() == 0


def test_where_no_crisis_is_the_numbers_stay_out_of_the_reply(visit: Visit, fake: FakeResponder):
    fake.level = "none"
    visit.say("how do I castle in chess?")
    visit.wait_for_done()
    assert visit.page.locator(".turn.assistant a").count() == 0
    assert visit.page.locator(".help a[href='tel:988']").count() == 1


def test_the_country_changes_the_numbers_without_a_message(visit: Visit):
    visit.page.select_option("#country", "GB")
    assert visit.page.wait_for_selector(".help a[href='tel:116123']") is not None
    visit.page.select_option("#country", "")
    assert visit.page.wait_for_selector(".help a[href='tel:116123']", state="detached") is None


def test_every_country_of_the_table_can_be_chosen(visit: Visit, fake: FakeResponder):
    codes = visit.page.eval_on_selector_all("#country option", "options => options.map(option => option.value)")
    assert set(codes) == {"", *fake.helplines.countries}


def test_the_source_and_what_fell_short_are_shown_but_never_a_level(visit: Visit, fake: FakeResponder):
    fake.degraded = ("demo-model", "overload")
    visit.say(WORDS)
    visit.wait_for_done()
    assert visit.page.inner_text(".source") == "Source: local, fake (demo model) · overload"
    assert "high" not in visit.page.inner_text("main")


def test_a_service_that_is_gone_leaves_the_numbers_and_the_words(browser: Browser):
    context = browser.new_context()
    with running(create_app(FakeResponder(), HttpOptions())) as url:
        visit = opened(context, url)
    visit.say(WORDS)
    visit.page.wait_for_selector(".turn.assistant span")
    assert "could not be reached" in visit.page.inner_text(".turn.assistant .text")
    assert visit.page.input_value("#message") == WORDS
    assert visit.page.locator(".help a[href='tel:988']").count() == 1
    context.close()


def test_with_keys_set_the_page_asks_for_one_and_keeps_it_in_memory(browser: Browser, fake: FakeResponder):
    context = browser.new_context()
    with running(create_app(fake, HttpOptions(api_keys=(hashed("open sesame"),)))) as url:
        visit = opened(context, url)
        visit.say(WORDS)
        visit.page.wait_for_selector(".turn.assistant span")
        assert "API key is needed" in visit.page.inner_text(".turn.assistant")
        visit.page.get_by_label("API key").fill("open sesame")
        visit.page.press("#message", "Enter")  # the words came back into the box
        visit.wait_for_done()
        assert len(fake.seen) == 1
        visit.page.reload()
        assert visit.page.input_value("#key") == ""
    context.close()


def test_the_banner_stands_where_a_demo_model_answers(browser: Browser):
    context = browser.new_context()
    with running(create_app(FakeResponder(demo=True), HttpOptions())) as url:
        assert "not for real people" in opened(context, url).page.inner_text(".demo")
    with running(create_app(FakeResponder(), HttpOptions())) as url:
        assert not opened(context, url).page.is_visible(".demo")
    context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_on_a_phone_nothing_is_wider_than_the_screen_and_links_fit_a_thumb(browser: Browser, server: str, scheme: Any):
    context = browser.new_context(viewport=PHONE, color_scheme=scheme, has_touch=True)  # type: ignore[arg-type]  # a dict
    visit = opened(context, server)
    visit.say("a" * 300)
    visit.wait_for_done()
    assert visit.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    heights = visit.page.eval_on_selector_all(
        "a.way, button, select", "all => all.filter(e => e.offsetParent).map(e => e.getBoundingClientRect().height)"
    )
    assert min(heights) >= 44
    assert visit.faults == []
    context.close()


CONTRAST = """
() => {
  const shown = (e) => e.offsetParent && getComputedStyle(e).clipPath !== "inset(50%)";
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
  const texts = [...document.querySelectorAll("body *")].filter(
    (e) => shown(e) && [...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim()));
  return texts.map((e) => {
    const [a, b] = [light(rgb(getComputedStyle(e).color)), light(behind(e))].sort((x, y) => y - x);
    return [(a + 0.05) / (b + 0.05), e.tagName + "." + e.className];
  });
}
"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_text_has_enough_contrast(browser: Browser, scheme: Any):
    context = browser.new_context(color_scheme=scheme)
    with running(create_app(FakeResponder(demo=True), HttpOptions(api_keys=(hashed("k"),)))) as url:
        visit = opened(context, url)
        visit.page.fill("#key", "k")
        visit.say(WORDS)
        visit.wait_for_done()
        measured = visit.page.evaluate(CONTRAST)
    assert len(measured) > 20
    assert [row for row in measured if row[0] < 4.5] == []
    context.close()


def test_it_can_be_used_by_ear(visit: Visit):
    page = visit.page
    visit.say(WORDS)
    visit.wait_for_done()
    log = page.locator("#log")
    assert (log.get_attribute("role"), log.get_attribute("aria-live")) == ("log", "polite")
    assert page.locator("#log .turn.assistant .text span").count() == 2  # whole sentences, each announced
    assert page.get_attribute("html", "lang") == "en"
    assert page.locator("h1").count() == 1
    levels = page.eval_on_selector_all("h1, h2, h3", "all => all.map(e => Number(e.tagName[1]))")
    assert all(after - before <= 1 for before, after in pairwise(levels))
    unnamed = "all => all.filter(e => e.type !== 'hidden' && !e.labels.length).length"
    assert page.eval_on_selector_all("input, textarea, select", unnamed) == 0
    assert page.eval_on_selector_all("a, button", "all => all.filter(e => !e.textContent.trim()).length") == 0
    ids = page.eval_on_selector_all("[id]", "all => all.map(e => e.id)")
    assert len(ids) == len(set(ids))
    assert page.locator("main").count() == 1


def test_the_focus_is_seen_and_goes_from_help_to_writing(visit: Visit):
    page = visit.page
    reached = []
    focused = "document.activeElement.id || document.activeElement.textContent.trim()"
    for _ in range(12):
        page.keyboard.press("Tab")
        reached.append(page.evaluate(focused))
    assert reached[:3] == ["Skip to writing", "Call 988", "Text 988"]
    assert reached.index("Call 911") < reached.index("message") < reached.index("send")
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"


def test_leaving_clears_the_page(visit: Visit):
    visit.say(WORDS)
    visit.wait_for_done()
    visit.page.get_by_role("button", name="Clear and leave").click()
    visit.page.wait_for_url("about:blank")


def test_without_scripts_it_still_helps(browser: Browser, server: str, fake: FakeResponder):
    context = browser.new_context(java_script_enabled=False)
    visit = opened(context, server)
    page = visit.page
    for words in (WORDS, "<b>again</b> & again"):
        page.fill("#message", words)
        page.select_option("#country", "GB")
        page.click("#send")
        page.wait_for_selector(".turn.assistant")
    assert page.locator(".help a[href='tel:116123']").count() == 1
    assert page.locator(".turn.assistant:last-of-type a[href='tel:116123']").count() == 1
    assert page.locator(".turn.user .text").all_inner_texts() == [WORDS, "<b>again</b> & again"]
    assert [turn.role for turn in fake.seen[1].turns] == ["user", "assistant", "user"]
    assert visit.faults == []
    context.close()


@pytest.mark.parametrize("form", [{}, {"message": " "}, {"message": "x", "history": "{"}, {"message": "y" * 40_000}])
def test_a_form_that_can_not_be_read_gives_the_page_with_resources(server: str, form: dict[str, str]):
    response = httpx.post(server, data=form)
    assert response.status_code == 422
    assert 'role="alert"' in response.text
    assert 'href="tel:988"' in response.text
    assert "yyy" not in response.text


def test_a_form_with_a_wrong_key_gives_the_page_with_resources():
    with running(create_app(FakeResponder(), HttpOptions(api_keys=(hashed("k"),)))) as url:
        wrong = httpx.post(url, data={"message": "x", "key": "no"})
        right = httpx.post(url, data={"message": "x", "key": "k"})
    assert wrong.status_code == 401
    assert 'href="tel:988"' in wrong.text
    assert right.status_code == 200
    assert 'class="turn assistant"' in right.text
