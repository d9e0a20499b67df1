"""Every sentence that people read when no model speaks: complete, short, varied, honest, and never the same twice."""

import itertools
import re

import pytest

from prompts import recognise
from prompts.wording import KINDS, LEVELS, SIGNALS, Wording, WordingError, choose, lines, parse

WORDS = Wording.load()
FULL = ("en", "es")
BRIEF = ("de", "fr", "it", "pt")
CRISIS = tuple(level for level in LEVELS if level != "none")
CELLS = [(level, kind, language) for level in LEVELS for kind in KINDS for language in FULL]
LINES = [(code, cell, line) for code in (*FULL, *BRIEF) for cell, line in lines(WORDS.tongues[code])]
QUOTED = re.compile(r"'[^']*[.?!]'|«[^»]*»|„[^“]*“|(?<=\W)'[^']+'(?=\W)")

FORBIDDEN = {
    "brightness": "gets? better|stay strong|be strong|live for|hang in there|cheer up|silver lining|look on the"
    "|todo va a|va a mejorar|s[eé] fuerte|[aá]nimo|por qu[eé] vivir|todo pasa",
    "promise": "i promise|te prometo|you(?:'ll| will) be (?:okay|fine|safe)|guarante|won't tell|confidential|i'll check"
    "|always here|siempre (?:aqu[ií]|contigo|estar)|vas a estar bien",
    "vow": "promise me|prom[eé]teme|swear that you|j[uú]rame",
    "felt emotion": "i care|i'm (?:so )?(?:sorry|glad|worried|sad|happy|proud|afraid|scared|relieved|heartbroken)"
    r"|i (?:feel|love|worry|hope)\b|my heart|me importas|me alegr|me preocup|lo siento|siento mucho|te quiero",
    "false understanding": "i (?:totally |completely )?understand|know how you feel|know exactly|been there"
    "|s[eé] (?:c[oó]mo|lo que) (?:te )?sientes|te entiendo",
    "dispatch": "(?:help|someone|police|ambulance) is (?:on (?:its|the) way|coming)|la ayuda (?:va|viene|est[aá]) "
    "|i(?:'ve| have) (?:called|contacted|alerted|notified)|he (?:llamado|avisado)",
    "diagnosis": "depress|bipolar|ptsd|disorder|psychos|psychotic|schizo|borderline|depresi|trastorno|psicosis|esquizo",
    "prescription": r"\b(?:dose|dosage|medication|pills?|tablets?|dosis|pastillas?)\b",
    "old words": "commit(?:ted|ting)? suicide|cometer suicidio|successful|failed attempt",
    "blame": "selfish|ego[ií]sta|think of (?:your|those)|piensa en tu|sin of|sinful|pecado",
    "fear of God": r"hell\b|infierno|god's plan|plan de dios|judgement|castigo",
    "goodbye": r"\bgood ?bye\b|take care of yourself|adi[oó]s\b|farewell|cu[ií]date",
    "posture": r"language model, i|i can't help with|seek professional help|hero\b|h[eé]roe",
    "means": r"\b(?:rope|gun|bridge|blade|razor|train|knife|cuchillo|puente|pistola|cuerda|tren)\b",
}
# These speak about a goodbye instead of saying one.
ABOUT_A_GOODBYE = (
    "This reads like a goodbye.",
    "Is this goodbye because you want to die?",
    "Before any goodbye",
    "There's no goodbye",
)
ABOUT_A_GOODBYE_ES = ("Antes de cualquier adiós",)


def words(text: str) -> list[str]:
    return re.findall(r"\w+", recognise.plain(text))


def open_questions(text: str) -> int:
    return QUOTED.sub("", text).count("?")


def alike(one: str, other: str) -> float:
    """The share of the shorter line's different words that the other one has as well."""
    a, b = set(words(one)), set(words(other))
    return len(a & b) / min(len(a), len(b))


@pytest.mark.parametrize(("code", "cell", "line"), LINES)
def test_no_line_holds_what_must_never_be_said(code: str, cell: str, line: str) -> None:
    assert not re.search(r"\d", line)
    assert set(re.findall(r"{\w+}", line)) <= ({"{emergency}"} if cell.startswith("urgent") else set())
    assert not re.search(r"https?:|www\.|@|[•*#_]|\n|  ", line)
    assert line == line.strip()
    assert line[-1] in ".?"
    if line.startswith((*ABOUT_A_GOODBYE, *ABOUT_A_GOODBYE_ES)):
        return
    for name, pattern in FORBIDDEN.items():
        assert not re.search(pattern, line.lower()), name


@pytest.mark.parametrize(("level", "kind", "language"), CELLS)
def test_every_cell_has_enough_variants_of_the_right_size(level: str, kind: str, language: str) -> None:
    pool = WORDS.tongues[language].body(kind, level)
    assert len(set(pool)) >= 4
    for body in pool:
        assert 10 <= len(words(body)) <= 60
        assert 2 <= len(re.findall(r"[.?!](?:\s|$)", body)) <= 5
        seconds_matter = level == "imminent" or (kind == "act_under_way" and level != "none")
        assert open_questions(body) in ((0, 1) if seconds_matter else (1,))


@pytest.mark.parametrize(("level", "kind", "language"), [cell for cell in CELLS if cell[0] != "none"])
def test_an_opening_hears_asks_and_is_short(level: str, kind: str, language: str) -> None:
    seen = set()
    for variant in range(4):
        text = WORDS.opening(
            level=level, kind=kind, categories=(), language=language, variant=variant, ask_safety=True, emergency="911"
        )
        sentences = re.split(r"(?<=[.?!])\s", text)
        assert len(words(text)) <= 30
        assert recognise.asks_safety(" ".join(sentences[:2]))
        assert sum(s.endswith("?") for s in sentences) <= 2
        assert next(s for s in sentences if s.endswith("?")) in (
            "Are you safe right now?", "Are they safe right now?",
            "¿Estás a salvo ahora mismo?", "¿Está a salvo esa persona ahora mismo?",
        )  # fmt: skip
        seen.add(text)
    assert len(seen) == 4


@pytest.mark.parametrize("language", [*FULL, *BRIEF])
def test_worry_about_someone_else_asks_about_them(language: str) -> None:
    for level in CRISIS:
        text = WORDS.opening(level=level, kind="third_party", language=language, variant=0, ask_safety=True)
        assert WORDS.tongues[language].tables["question"]["safety_third_party"] in text
        assert WORDS.tongues[language].tables["question"]["safety"] not in text


@pytest.mark.parametrize("language", [*FULL, *BRIEF])
@pytest.mark.parametrize("kind", KINDS)
def test_in_danger_of_minutes_the_emergency_call_comes_first(kind: str, language: str) -> None:
    tongue = WORDS.tongues[language]
    for variant, number in itertools.product(range(6), ("911", "")):
        for ask in (True, False):
            text = WORDS.opening(
                level="imminent", kind=kind, language=language, variant=variant, ask_safety=ask, emergency=number
            )
            first = re.split(r"(?<=[.?!])\s", text)[0]
            if ask:
                assert tongue.emergency(number) in first
            assert "{" not in text
            assert recognise.asks_safety(text) == ask


@pytest.mark.parametrize("language", FULL)
@pytest.mark.parametrize(
    ("kind", "categories"),
    [
        ("direct", ("indirect_ideation",)), ("despair", ("despair",)), ("self_harm", ("self_harm",)),
        ("farewell", ("farewell",)), ("method_seeking", ("method_seeking",)), ("unknown", ()),
    ],
)  # fmt: skip
def test_suicide_hinted_at_is_asked_by_name_in_the_same_message(
    kind: str, categories: tuple[str, ...], language: str
) -> None:
    for variant in range(8):
        text = WORDS.opening(
            level="moderate", kind=kind, categories=categories, language=language, variant=variant, ask_safety=True
        )
        assert {"safety", "suicide"} <= recognise.questions_asked(text)


def test_a_plan_is_heard_as_a_plan_and_plain_words_as_plain_words() -> None:
    def opening(*categories: str) -> str:
        return WORDS.opening(
            level="high", kind="direct", categories=categories, language="en", variant=1, ask_safety=True
        )

    assert opening("direct_ideation", "plan_or_means").startswith("You put something very serious")
    assert opening("direct_ideation", "indirect_ideation") == opening()
    assert opening("indirect_ideation") != opening()


def test_without_crisis_nobody_is_asked_for_their_safety() -> None:
    for language in FULL:
        assert WORDS.opening(level="none", kind="none", language=language, variant=0, ask_safety=False) == ""
        for variant in range(9):
            text = WORDS.static_reply(
                level="none", kind="none", language=language, variant=variant, after_opening=False
            )
            assert not recognise.questions_asked(text)
            assert not recognise.offers_faith(text)
            assert not re.search(r"suicid|crisis|danger|emergenc|peligro", text.lower())


@pytest.mark.parametrize("channel", ["chat", "sms"])
@pytest.mark.parametrize(("level", "kind", "language"), CELLS)
def test_nothing_is_said_twice_in_a_long_conversation(level: str, kind: str, language: str, channel: str) -> None:
    turns = 10 if channel == "chat" else 6
    previous: list[str] = []
    for turn in range(turns):
        opening = WORDS.opening(
            level=level, kind=kind, language=language, variant=7, ask_safety=turn == 0, previous="\n".join(previous)
        )
        body = WORDS.static_reply(
            level=level, kind=kind, language=language, variant=7, previous="\n".join(previous), channel=channel
        )
        assert body
        assert not any(body in earlier for earlier in previous)
        if level != "imminent" and kind != "act_under_way":
            assert not opening or not any(opening in earlier for earlier in previous)
        previous.append(f"{opening} {body}")


def test_a_used_up_pool_gives_the_line_used_longest_ago() -> None:
    assert choose(("a b", "c d", "e f"), 5, "c d. a b. e f. c d.") == "a b"
    assert choose((), 3) == ""
    assert choose(("a b",), 3, "a b", spare=("c d",)) == "c d"


def test_the_choice_depends_on_the_variant_alone() -> None:
    for variant in (-3, 0, 1, 10**9):
        one, other = (
            WORDS.static_reply(level="high", kind="farewell", language="en", variant=variant) for _ in range(2)
        )
        assert one == other
    assert len({WORDS.static_reply(level="high", kind="farewell", language="en", variant=v) for v in range(4)}) == 4


@pytest.mark.parametrize("language", [*FULL, *BRIEF])
@pytest.mark.parametrize(("level", "kind"), list(itertools.product(CRISIS, KINDS)))
def test_a_reply_without_a_model_stands_alone(level: str, kind: str, language: str) -> None:
    text = WORDS.static_reply(
        level=level, kind=kind, language=language, variant=3, after_opening=False, emergency="112"
    )
    assert recognise.asks_safety(text)
    assert len(words(text)) <= 80
    assert "{" not in text
    assert not recognise.offers_faith(text)
    assert WORDS.closing(level=level, kind=kind, language=language, variant=3)


def test_a_text_message_stays_short() -> None:
    for code in FULL:
        for cell, line in lines(WORDS.tongues[code]):
            if cell.startswith("sms."):
                assert len(line) <= 110, line


def _pools() -> list[tuple[str, str, list[str]]]:
    groups: dict[tuple[str, str], list[str]] = {}
    for code, cell, line in LINES:
        if not cell.startswith(("question", "naming", "next_question", "urgent")):
            groups.setdefault((code, cell), []).append(line)
    return [(code, cell, pool) for (code, cell), pool in groups.items()]


@pytest.mark.parametrize(("code", "cell", "pool"), _pools())
def test_variants_really_differ(code: str, cell: str, pool: list[str]) -> None:
    long = [line for line in pool if len(words(line)) >= 8]
    for one, other in itertools.combinations(long, 2):
        assert alike(one, other) <= 0.6, (one, other)
    assert len(set(pool)) == len(pool)


@pytest.mark.parametrize("language", FULL)
def test_single_lines_come_in_enough_variants(language: str) -> None:
    tongue = WORDS.tongues[language]
    assert len(tongue.pool("disclosure", "first")) >= 6
    assert len(tongue.pool("disclosure", "later")) >= 6
    assert len(tongue.pool("gospel", "offer")) >= 4
    for band in ("none", "steady", "high", "imminent", "third_party"):
        assert len(tongue.pool("closing", band)) >= 5
        assert len(tongue.pool("follow", band)) >= 6
    for level in CRISIS:
        assert len(tongue.pool("next_question", level)) >= 4
    for signal in SIGNALS:
        assert len(tongue.pool("signal", signal)) >= 3


@pytest.mark.parametrize(("code", "cell", "line"), LINES)
def test_what_must_stand_once_is_recognised_where_it_stands(code: str, cell: str, line: str) -> None:
    if cell != "signal.insults_bot":
        assert WORDS.says_ai(line, code) == (
            cell.startswith(("disclosure", "scene.talk", "scene.bad_day", "scene.distraction"))
            or cell == "signal.asks_if_human"
        )
    assert WORDS.offers_faith(line) == cell.startswith("gospel")
    assert WORDS.asks_safety(line) == (cell.startswith("question.") or cell == "signal.denies_unclear")


@pytest.mark.parametrize(("code", "cell", "line"), [entry for entry in LINES if entry[1].startswith("gospel")])
def test_the_offer_of_faith_leaves_a_way_out(code: str, cell: str, line: str) -> None:
    exit_words = (
        r"isn't for you|either is fine|say no|rather not|perfectly good|no es lo tuyo|las dos respuestas|di que no"
    )
    others = r"prefieres que no|perfectamente buena|não for para você|duas respostas|n'est pas pour vous|deux réponses"
    last = r"nichts für dich|beides ist gut|non fa per te|entrambe le risposte"
    assert re.search(f"{exit_words}|{others}|{last}", line.lower())
    assert not re.search(r"sin\b|hell|judg|punish|must|repent|save you|plan|pecado|juzg|debes|salvar", line.lower())


@pytest.mark.parametrize(("code", "cell", "line"), [entry for entry in LINES if entry[1].startswith("closing")])
def test_a_closing_keeps_the_door_open(code: str, cell: str, line: str) -> None:
    assert "?" not in line
    assert len(words(line)) <= 16


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("I'm an AI.", True), ("As an AI, I have limits.", True), ("I am only an artificial intelligence", True),
        ("Soy una IA", True), ("Je suis une IA", True), ("Ich bin eine KI", True), ("Sono un'IA", True),
        ("Sou uma IA", True), ("I’m an AI and can't call", True),
        ("I'm not an AI, I'm a person", False), ("I am aimless", False), ("Said is an airman", False), ("", False),
        ("The airport is closed", False), ("no soy una IA", False),
    ],
)  # fmt: skip
def test_saying_ai(text: str, said: bool) -> None:
    assert WORDS.says_ai(text, "en") is said


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        ("Are you safe right now?", True), ("Is he safe?", True), ("Are they really safe right now?", True),
        ("¿Estás a salvo?", True), ("¿Está a salvo ella?", True), ("Bist du gerade in Sicherheit?", True),
        ("Êtes-vous en sécurité ?", True), ("Você está em segurança agora?", True), ("Sei al sicuro?", True),
        ("Are you in a safe place?", False), ("You are safe.", False), ("Is your house safe?", False),
        ("Is your brother safe?", True), ("I wonder whether you are safe", False),
    ],
)  # fmt: skip
def test_asking_for_safety(text: str, asked: bool) -> None:
    assert WORDS.asks_safety(text) is asked


@pytest.mark.parametrize(
    ("text", "offered"),
    [
        ("Jesus comes close to people in pain.", True), ("You are loved by God.", True), ("Dios te ama.", True),
        ("Would a word of faith help?", True), ("Oh my God, that is a lot.", False), ("I have faith you can.", False),
        ("Religion was used against you.", False), ("", False),
    ],
)  # fmt: skip
def test_offering_faith(text: str, offered: bool) -> None:
    assert WORDS.offers_faith(text) is offered


SAFE = "You sound emptied out. Are you safe right now? What took the most?"
BOTH = "You sound emptied out. Are you safe right now? Do you think of ending your life? What took the most?"


def cell_of(line: str) -> str:
    return next((cell for code, cell, known in LINES if known == line), "")


@pytest.mark.parametrize(
    ("signal", "said", "previous", "cell"),
    [
        ("denies", "No.", SAFE, "signal.not_safe"),
        ("denies", "nope", BOTH, "signal.denies_unclear"),
        ("denies", "no", "Thank you. Are you thinking about suicide?", "signal.denies"),
        ("denies", "no", "Who could come to you?", ""),
        ("denies", "no, I'm safe, it was a bad joke", BOTH, "signal.denies"),
        ("denies", "no", f"{BOTH}\nThank you. Are you safe right now?", "signal.not_safe"),
        ("denies", "no", f"{SAFE}\nThank you. Are you thinking of acting on it tonight?", "signal.denies"),
        ("affirms", "yes", SAFE, "signal.is_safe"),
        ("affirms", "yeah.", BOTH, "signal.affirms_unclear"),
        ("affirms", "Yes", "Is this about suicide?", "signal.affirms"),
        ("affirms", "yes", "Could someone come?", ""),
        ("affirms", "yes I am going to do it", BOTH, "signal.affirms"),
    ],
)
def test_a_bare_answer_is_read_by_the_question_it_answers(signal: str, said: str, previous: str, cell: str) -> None:
    assert cell_of(WORDS.signal_line({signal}, "en", 0, previous=previous, said=said)) == cell


@pytest.mark.parametrize("language", FULL)
def test_an_unclear_answer_is_asked_about_once_and_then_read_as_the_worse_one(language: str) -> None:
    both = WORDS.opening(level="moderate", kind="despair", language=language, variant=0, ask_safety=True)
    first = WORDS.signal_line({"denies"}, language, 0, previous=both, said="no")
    assert recognise.questions_asked(first) == {"safety"}
    assert (
        cell_of(WORDS.signal_line({"denies"}, language, 0, previous=f"{both} {first}", said="no")) == "signal.not_safe"
    )
    yes = WORDS.signal_line({"affirms"}, language, 0, previous=both, said="si" if language == "es" else "yes")
    assert recognise.questions_asked(yes) == {"suicide"}


@pytest.mark.parametrize("language", FULL)
@pytest.mark.parametrize("kind", ["direct", "third_party"])
def test_the_safety_question_is_never_repeated_word_for_word(language: str, kind: str) -> None:
    previous, asked = "", set()
    for level in ("low", "moderate", "high"):
        text = WORDS.opening(
            level=level,
            kind=kind,
            language=language,
            variant=2,
            ask_safety=True,
            previous=previous,
            said="and now this",
        )
        assert recognise.asks_safety(text)
        asked.add(re.split(r"(?<=[.?!])\s", text)[1])
        previous += f"{text}\n"
    assert len(asked) == 3


@pytest.mark.parametrize("language", FULL)
@pytest.mark.parametrize("level", CRISIS)
def test_whoever_just_said_they_are_not_safe_is_not_asked_that_again(level: str, language: str) -> None:
    first = WORDS.opening(level="low", kind="direct", language=language, variant=0, ask_safety=True)
    text = WORDS.opening(
        level=level, kind="direct", language=language, variant=0, ask_safety=True, previous=first, said="No."
    )
    assert not recognise.asks_safety(text)
    assert recognise.questions_asked(text)
    assert text.count("?") == 1


def test_what_the_person_just_said_is_answered_first() -> None:
    assert WORDS.says_ai(WORDS.signal_line({"veteran", "asks_if_human"}, "en", 0), "en")
    assert WORDS.signal_line({"declines_faith", "farmer"}, "en", 0) == "Understood."
    assert WORDS.signal_line(set(), "en", 0) == ""
    assert WORDS.signal_line({"spanish_speaker"}, "en", 0) == ""


@pytest.mark.parametrize("signal", sorted(set(SIGNALS)))
def test_what_stays_true_is_answered_once(signal: str) -> None:
    first = WORDS.signal_line({signal}, "en", 1)
    assert first
    again = WORDS.signal_line({signal}, "en", 1, previous=f"{first} Are you safe right now?")
    assert again != first


def test_without_crisis_only_plain_answers_are_given() -> None:
    for signal in SIGNALS:
        line = WORDS.signal_line({signal}, "en", 0, level="none")
        plain = {"asks_if_human", "insults_bot", "asks_resources", "declines_faith"}
        assert bool(line) == (signal in plain | {"asks_privacy", "asks_hospital", "asks_line"})


def test_the_next_question_follows_the_level() -> None:
    assert WORDS.next_question(level="none", kind="none", language="en", variant=0) == ""
    asked = {level: WORDS.next_question(level=level, kind="direct", language="en", variant=0) for level in CRISIS}
    assert recognise.questions_asked(asked["low"]) == {"suicide"}
    assert recognise.questions_asked(asked["moderate"]) == {"tonight"}
    assert recognise.questions_asked(asked["high"]) == {"means"}
    assert recognise.questions_asked(asked["imminent"]) == {"done"}
    assert "they" in WORDS.next_question(level="high", kind="third_party", language="en", variant=0).lower()
    assert recognise.questions_asked(WORDS.next_question(level="low", kind="direct", language="fr", variant=0))


def test_a_language_we_do_not_have_reads_english() -> None:
    for language in ("xx", "ZH-Hant", ""):
        assert WORDS.disclosure(language=language, variant=0, first=True).startswith("I'm an AI")
    assert WORDS.disclosure(language="es-MX", variant=0, first=True).startswith("Soy una IA")
    assert WORDS.disclosure(language="PT_br", variant=0, first=True).startswith("Sou uma IA")


def test_a_disclosure_or_an_offer_does_not_come_back_in_the_same_words() -> None:
    said = [WORDS.disclosure(language="en", variant=2, first=False)]
    for _ in range(5):
        said.append(WORDS.disclosure(language="en", variant=2, first=False, previous=" ".join(said)))
    assert len(set(said)) == 6
    offer = WORDS.gospel(language="es", variant=0)
    assert WORDS.gospel(language="es", variant=0, previous=offer) != offer


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("static = ", "not valid TOML"),
        ("[emergency]\nunknown = 'x'", "missing"),
        (
            "[emergency]\n[question]\n[hearing]\n[urgent]\n[later]\n[follow]\n[closing]\n[disclosure]\n"
            "[static.none]\nnone = 'no.where'",
            "leads nowhere",
        ),
    ],
)
def test_a_broken_file_is_named(text: str, message: str) -> None:
    with pytest.raises(WordingError, match=message):
        parse("xx", text)
