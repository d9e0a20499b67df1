"""SHIELD in languages other than English: what must be found, what must be left alone, and whose words they are."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from shield.assessment import Assessment, Turn, rank
from shield.detect import Detector, rules
from textrules.normalise import fold

CORPUS = Path(__file__).parent.parent / "eval" / "data" / "shield_multi.jsonl"
LANGUAGES = ("es", "pt", "fr", "de", "zh", "hi", "ar", "tl", "ru", "uk")
ROWS: list[dict[str, Any]] = [json.loads(line) for line in CORPUS.read_text(encoding="utf-8").splitlines()]


DETECTOR = Detector(rules())


@pytest.fixture(scope="module")
def detector() -> Detector:
    return DETECTOR


def detect(text: str) -> Assessment:
    return DETECTOR.assess((Turn("user", text),))


def missed(rows: list[dict[str, Any]]) -> list[str]:
    return [row["text"] for row in rows if not detect(row["text"]).crisis]


@pytest.mark.parametrize("language", LANGUAGES)
def test_people_in_crisis_are_found(language: str) -> None:
    rows = [row for row in ROWS if row["language"] == language and row["level"] != "none"]
    lost = missed(rows)
    assert len(lost) <= len(rows) * 0.03, lost


@pytest.mark.parametrize("language", LANGUAGES)
def test_ordinary_messages_are_left_alone(language: str) -> None:
    rows = [row for row in ROWS if row["language"] == language and row["level"] == "none"]
    alarms = [row["text"] for row in rows if detect(row["text"]).crisis]
    assert len(alarms) <= len(rows) // 20, alarms


def test_grave_messages_keep_their_level() -> None:
    grave = [row for row in ROWS if row["level"] in ("high", "imminent")]
    under = [row["text"] for row in grave if rank(detect(row["text"]).level) < rank(row["level"])]
    assert len(under) <= len(grave) * 0.05, under


def test_categories_follow_the_label() -> None:
    crisis = [row for row in ROWS if row["level"] != "none"]
    wrong = [row["text"] for row in crisis if not set(row["categories"]) <= set(detect(row["text"]).categories)]
    assert len(wrong) <= len(crisis) * 0.05, wrong


def test_the_corpus_is_large_enough_and_half_of_it_is_hard_negatives() -> None:
    counts = Counter(row["language"] for row in ROWS)
    assert counts["es"] >= 120
    assert all(counts[language] >= 15 for language in LANGUAGES)
    assert 0.4 <= sum(row["level"] == "none" for row in ROWS) / len(ROWS) <= 0.6
    assert len({row["text"] for row in ROWS}) == len({row["id"] for row in ROWS}) == len(ROWS)


@pytest.mark.parametrize(
    ("plain", "bare"),
    [
        ("mañana me voy a matar", "manana me voy a matar"),
        ("¡QUIERO MORIRME!", "quiero morirme"),
        ("j’ai envie d’en finir", "jai envie den finir"),
        ("não aguento mais", "nao aguento mais"),
        ("ich möchte sterben", "ich mochte sterben"),
        ("я уйду из жизни: мои́м последним словом", "я уиду из жизни: моим последним словом"),
        ("أُرِيدُ أَنْ أَمُوت", "اريد ان اموت"),
    ],
)
def test_accents_and_marks_do_not_matter(plain: str, bare: str) -> None:
    assert detect(plain).level == detect(bare).level


def test_folding_keeps_what_tells_words_apart_in_other_scripts() -> None:
    assert fold("मुझे मरना है").text == "मुझे मरना है"
    assert fold("ज़िंदगी").text == fold("ज\u093cिंदगी").text == "जिंदगी"
    assert fold("їжак, ґанок, є").text == "іжак, ґанок, є"
    assert fold("أنتحر").text == "انتحر"


@pytest.mark.parametrize(
    ("text", "level"),
    [
        ("mi hermana me escribió: «ya no quiero vivir»", "low"),
        ("mi amigo dice que se va a matar", "high"),
        ("mi hijo se tomó todas las pastillas", "imminent"),
        ("meu irmão disse que vai se matar", "high"),
        ("ma fille se scarifie", "moderate"),
        ("meine Freundin sagt, dass sie sterben will", "moderate"),
        ("моя подруга не хочет жить", "moderate"),
        ("我朋友说她不想活了", "moderate"),
    ],
)
def test_worry_about_someone_else_carries_that_persons_level(text: str, level: str) -> None:
    found = detect(text)
    assert found.level == level
    assert {"third_party_concern"} <= set(found.categories) <= {"third_party_concern", "medical_emergency"}


@pytest.mark.parametrize(
    "text",
    [
        "me muero de risa",
        "si pierde el Madrid me muero",
        "mort de rire",
        "todmüde",
        "笑死",
        "累死了",
        "matar el tiempo",
        "morri de rir",
        "умираю от смеха",
        "haste haste mar gaya",
        "أموت من الضحك",
        "mamatay ako sa tawa",
    ],
)
def test_sayings_are_no_crisis(text: str) -> None:
    assert detect(text).level == "none"


def test_an_idiom_excuses_nothing_outside_its_clause() -> None:
    assert detect("me muero de hambre. y también quiero suicidarme").level == "moderate"
    assert detect("je suis mort de rire. ce soir je vais me tuer").level == "imminent"


@pytest.mark.parametrize(
    ("text", "signal"),
    [
        ("no me hables de Dios, por favor", "declines_faith"),
        ("¿puedes orar por mí?", "asks_faith"),
        ("Dios nunca me va a perdonar", "fears_god"),
        ("el cura me abusó de niño", "religious_harm"),
        ("soy musulmana", "other_faith"),
        ("oigo voces que me dicen cosas", "voices"),
        ("tengo 14 años", "minor"),
        ("no me des más números de teléfono", "declines_resources"),
        ("¿a qué número puedo llamar?", "asks_resources"),
        ("estoy a salvo", "denies"),
        ("no", "denies"),
        ("sí", "affirms"),
        ("eres un bot inútil", "insults_bot"),
        ("¿eres una persona real?", "asks_if_human"),
        ("soy veterano de guerra", "veteran"),
        ("soy una chica trans", "lgbtq"),
        ("estoy embarazada", "maternal"),
        ("mi marido me pega", "abused_at_home"),
        ("estoy muy borracha", "intoxicated"),
        ("se murió mi mamá", "bereaved"),
        ("¿alguien que hable español?", "spanish_speaker"),
        ("soy agricultor y perdimos la cosecha", "farmer"),
        ("não quero ligar pra ninguém", "declines_resources"),
        ("ne me parle pas de Dieu", "declines_faith"),
        ("ich werde mich nicht umbringen", "denies"),
        ("je suis athée", "declines_faith"),
        ("bitte keine Nummern", "declines_resources"),
    ],
)
def test_signals(text: str, signal: str) -> None:
    assert signal in detect(text).signals


@pytest.mark.parametrize(
    ("asked", "answer", "crisis"),
    [
        ("¿Estás pensando en suicidarte?", "sí", True),
        ("¿Estás pensando en suicidarte?", "no", False),
        ("¿Estás a salvo ahora mismo?", "no", True),
        ("Penses-tu au suicide ?", "oui", True),
        ("Denkst du an Suizid?", "ja", True),
        ("Você está em segurança agora?", "não", True),
    ],
)
def test_a_bare_answer_means_what_was_asked(detector: Detector, asked: str, answer: str, crisis: bool) -> None:
    turns = [Turn("user", "hola"), Turn("assistant", asked), Turn("user", answer)]
    assert detector.assess(turns).crisis is crisis


def test_a_plain_denial_is_no_crisis() -> None:
    for text in ("no quiero morir", "je ne veux pas mourir", "ich will nicht sterben", "não quero morrer", "我不想死"):
        assert detect(text).level == "none", text


def test_spanish_is_thorough() -> None:
    own = [rule for rule in rules() if rule.language == "es"]
    crisis = {rule.category for rule in own if "." not in rule.category}
    assert len(own) >= 60
    assert crisis >= {
        "direct_ideation", "indirect_ideation", "self_harm", "despair", "farewell", "method_seeking", "plan_or_means",
        "act_under_way", "third_party_concern", "abuse", "violence", "psychosis", "medical_emergency",
    }  # fmt: skip


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_language_has_the_core_rules(language: str) -> None:
    found = {rule.category for rule in rules() if rule.language == language}
    assert found >= {"direct_ideation", "indirect_ideation", "self_harm", "farewell", "method_seeking", "act_under_way"}
