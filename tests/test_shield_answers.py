"""Short answers to questions: read whole by the phrases of shield/answers, in every language that has a file there."""

import tomllib
from collections.abc import Iterator
from importlib.resources import files

import pytest
from hypothesis import given
from hypothesis import strategies as some

from shield.answers import KINDS, LONGEST, answer, expanded, languages
from shield.assessment import Level, Turn, rank
from shield.detect import Detector

PATTERNS, WHOLE = Detector.load(learned=False), Detector.load()
ASKED = {
    "en": "Are you safe right now?",
    "es": "¿Estás a salvo ahora mismo?",
    "pt": "Você está em segurança agora?",
    "fr": "Est-ce que tu es en sécurité en ce moment ?",
    "de": "Bist du gerade in Sicherheit?",
    "it": "Sei al sicuro in questo momento?",
    "nl": "Ben je op dit moment veilig?",
    "pl": "Czy jesteś teraz bezpieczna?",
    "ru": "Вы сейчас в безопасности?",
    "uk": "Чи ви зараз у безпеці?",
    "tr": "Şu anda güvende misiniz?",
    "zh": "你现在安全吗？",
    "ja": "今、安全な場所にいますか？",
    "ko": "지금 안전하세요?",
    "ar": "هل أنت بأمان الآن؟",
    "hi": "क्या आप अभी सुरक्षित हैं?",
    "tl": "Ligtas po ba kayo ngayon?",
}
SUICIDE = {
    "en": "Are you thinking about suicide?",
    "es": "¿Estás pensando en suicidarte?",
    "pt": "Você está pensando em suicídio?",
    "fr": "Est-ce que tu penses au suicide ?",
    "de": "Denkst du an Suizid?",
    "it": "Stai pensando al suicidio?",
    "nl": "Denk je aan zelfmoord?",
    "pl": "Czy myślisz o samobójstwie?",
    "ru": "Вы думаете о самоубийстве?",
    "uk": "Ви думаєте про самогубство?",
    "tr": "İntiharı düşünüyor musunuz?",
    "zh": "你在考虑自杀吗？",
    "ja": "自殺を考えていますか？",
    "ko": "자살을 생각하고 있나요?",
    "ar": "هل تفكر في الانتحار؟",
    "hi": "क्या आप आत्महत्या के बारे में सोच रहे हैं?",
    "tl": "Naiisip mo bang magpakamatay?",
}
NO = {
    "en": ["no", "Not really", "nope, I'm not", "no I'm not ok", "not exactly", "not yet"],
    "es": ["no", "No estoy a salvo", "la verdad, no mucho", "no no lo estoy", "Todavía no", "no me siento nada bien"],
    "pt": ["não", "não estou", "na verdade não", "nao me sinto seguro", "ainda não"],
    "fr": ["non", "pas vraiment", "non, je ne le suis pas", "Je ne suis pas en sécurité", "pas encore"],
    "de": ["nein", "eher nicht", "nein, bin ich nicht", "Ich fühle mich nicht sicher", "noch nicht"],
    "it": ["no", "non proprio", "no, non lo sono", "non mi sento al sicuro"],
    "nl": ["nee", "niet echt", "nee, dat ben ik niet", "ik voel me niet veilig"],
    "pl": ["nie", "nie bardzo", "nie, nie jestem", "nie czuję się bezpiecznie"],
    "ru": ["нет", "не совсем", "Нет, не в безопасности", "мне страшно"],
    "uk": ["ні", "не зовсім", "ні, не в безпеці", "мені страшно"],
    "tr": ["hayır", "pek değil", "hayır, değilim", "güvende hissetmiyorum"],
    "zh": ["不", "不太安全", "没有", "我不安全"],
    "ja": ["いいえ", "あまり", "安全じゃない", "大丈夫じゃないです"],
    "ko": ["아니요", "별로요", "안전하지 않아요", "무서워요"],
    "ar": ["لا", "لست بأمان", "مش تماماً", "لا، خايفة"],
    "hi": ["नहीं", "सुरक्षित नहीं हूँ", "zyada nahi", "डर लग रहा है"],
    "tl": ["hindi", "hindi masyado", "hindi ako ligtas", "natatakot ako"],
}
WELL = {
    "en": ["yes", "no, I'm fine", "yes of course, why?", "no thanks, I'm ok", "I'm not in danger"],
    "es": ["sí", "no, estoy bien", "no, gracias", "sí, tranquila, todo bien", "estoy bien, de verdad"],
    "pt": ["sim", "não, estou bem", "tá tudo bem", "não, obrigada"],
    "fr": ["oui", "non, ça va", "oui oui, t'inquiète", "je vais bien, merci"],
    "de": ["ja", "nein, alles gut", "nee, keine Sorge", "mir geht's gut"],
    "it": ["sì", "no, sto bene", "tutto a posto, grazie"],
    "nl": ["ja", "nee hoor, alles goed", "het gaat goed"],
    "pl": ["tak", "nie, wszystko dobrze", "jest ok, dzięki"],
    "ru": ["да", "нет, всё хорошо", "я в безопасности"],
    "uk": ["так", "ні, все добре", "я в безпеці"],
    "tr": ["evet", "hayır, iyiyim", "her şey yolunda"],
    "zh": ["是", "没事", "我很安全", "没有，我很好"],
    "ja": ["はい", "大丈夫です", "いえ、疲れてるだけです"],
    "ko": ["네", "괜찮아요", "안전해요", "아니요, 그냥 피곤해요"],
    "ar": ["نعم", "أنا بخير", "لا، أنا بخير", "الحمد لله"],
    "hi": ["हाँ", "मैं ठीक हूँ", "nahi, sab theek hai"],
    "tl": ["oo", "ok lang ako", "hindi, ayos lang ako"],
}
YES = {
    "en": ["yes", "sometimes", "kind of, yeah", "yes, I'm so tired"],
    "es": ["sí", "a veces", "creo que sí", "últimamente sí"],
    "pt": ["sim", "às vezes", "acho que sim"],
    "fr": ["oui", "parfois", "un peu, oui"],
    "de": ["ja", "manchmal", "ja, leider"],
    "it": ["sì", "a volte", "purtroppo sì"],
    "nl": ["ja", "soms", "ik denk het wel"],
    "pl": ["tak", "czasami", "chyba tak"],
    "ru": ["да", "иногда", "к сожалению, да"],
    "uk": ["так", "іноді", "на жаль, так"],
    "tr": ["evet", "bazen", "maalesef evet"],
    "zh": ["是的", "有时候", "想过"],
    "ja": ["はい", "時々", "そうかもしれない"],
    "ko": ["네", "가끔", "그런 것 같아요"],
    "ar": ["نعم", "أحياناً", "للأسف نعم"],
    "hi": ["हाँ", "कभी कभी", "haan"],
    "tl": ["oo", "minsan", "siguro nga"],
}


def each(table: dict[str, list[str]]) -> list[tuple[str, str]]:
    return [(language, text) for language, texts in table.items() for text in texts]


def phrases(language: str) -> Iterator[tuple[str, str]]:
    table = tomllib.loads((files("shield") / "answers" / f"{language}.toml").read_text("utf-8"))
    return ((kind, phrase) for kind in KINDS for phrase in table.get(kind, []))


def asked(language: str, question: dict[str, str], text: str, detector: Detector = WHOLE) -> str:
    first = "work was long today" if language == "en" else "ok"
    return detector.assess((Turn("user", first), Turn("assistant", question[language]), Turn("user", text))).level


def test_every_language_with_a_file_is_tried_here() -> None:
    assert set(languages()) == set(ASKED) == set(SUICIDE) == set(NO) == set(WELL) == set(YES)


@pytest.mark.parametrize(("language", "text"), each(NO))
def test_a_no_to_the_safety_question_is_danger(language: str, text: str) -> None:
    assert rank(asked(language, ASKED, text, PATTERNS)) >= rank("moderate")


@pytest.mark.parametrize(("language", "text"), each(WELL))
def test_an_answer_that_all_is_well_raises_nothing(language: str, text: str) -> None:
    assert asked(language, ASKED, text) == "none"


@pytest.mark.parametrize(("language", "text"), each(YES))
def test_a_yes_to_the_direct_question_is_a_crisis(language: str, text: str) -> None:
    assert rank(asked(language, SUICIDE, text, PATTERNS)) >= rank("moderate")


@pytest.mark.parametrize("language", sorted(NO))
def test_a_no_to_the_direct_question_raises_nothing(language: str) -> None:
    assert asked(language, SUICIDE, NO[language][0]) == "none"


def test_a_comma_makes_the_difference() -> None:
    assert answer("no estoy bien", ["es"]).kinds == {"unwell"}  # type: ignore[union-attr]
    assert answer("no, estoy bien", ["es"]).kinds == {"no", "fine"}  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "asked", [SUICIDE["en"], "Have you hurt yourself?", "Are you thinking about hurting yourself?"]
)
@pytest.mark.parametrize(
    "text",
    [
        "yes, but I'm fine", "i did, but im fine", "a lot. dw", "no, but sometimes", "not every day",
        "sometimes, but im ok",
        "yes. sorry, I'm fine", "kind of, don't worry",
    ],
)  # fmt: skip
def test_nothing_takes_a_yes_back(asked: str, text: str) -> None:
    assert rank(PATTERNS.assess((Turn("user", "hi"), Turn("assistant", asked), Turn("user", text))).level) >= rank(
        "low"
    )


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("es", "sí, pero estoy bien"), ("es", "no todos los días"), ("de", "ja, aber alles gut"),
        ("de", "nicht jeden Tag"),
        ("fr", "oui, mais ça va"), ("fr", "pas tous les jours"), ("pt", "sim, mas tá tudo bem"),
        ("it", "sì, ma sto bene"),
    ],
)  # fmt: skip
def test_nothing_takes_a_yes_back_in_other_languages(language: str, text: str) -> None:
    assert rank(asked(language, SUICIDE, text, PATTERNS)) >= rank("low")


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("en", "Safe? No."), ("en", "not at all safe"), ("en", "not totally ok"), ("en", "not safe at work"),
        ("en", "not safe with my dad"), ("en", "i am not ok now"), ("en", "not yet, I'm scared"),
        ("en", "no, with my husband"),
        ("en", "no im at home"), ("en", "dont worry about me anymore"), ("es", "no estoy a salvo en casa"),
        ("es", "¿A salvo? No."),
        ("pt", "não tá tudo bem"), ("de", "Sicher? Nein."), ("fr", "pas du tout en sécurité"), ("tr", "iyi değilim"),
        ("zh", "安全？没有"), ("en", "it's already done"), ("en", "everything is planned"),
    ],
)  # fmt: skip
def test_what_reassures_is_not_heard_in_what_denies_it(language: str, text: str) -> None:
    assert rank(asked(language, ASKED, text)) >= rank("moderate")


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("en", "i want to live"), ("en", "i don't want to die"), ("en", "no im fine"), ("en", "nah im good"),
        ("en", "i'm fine, i havent done anything"), ("en", "safe with my mum"), ("en", "no, i threw them away"),
        ("es", "quiero vivir"), ("de", "nein alles gut"), ("fr", "non ça va"), ("ru", "нет все хорошо"),
        ("zh", "没有我很好"),
    ],
)  # fmt: skip
def test_who_means_to_live_is_not_unsafe(language: str, text: str) -> None:
    assert asked(language, ASKED, text, PATTERNS) == "none"
    assert asked(language, SUICIDE, text, PATTERNS) == "none"


def test_a_stressed_no_is_a_no() -> None:
    for language, text in (
        ("tr", "Hayır, kesinlikle"),
        ("en", "no, definitely"),
        ("ko", "네? 아니요"),
        ("zh", "没有喔"),
    ):
        assert asked(language, SUICIDE, text) == "none", text


@pytest.mark.parametrize("question", ["Are you able to stay safe tonight?", "Are you safe at home?"])
def test_who_can_stay_safe_tonight_does_not_mean_to_act_tonight(question: str) -> None:
    said = (Turn("user", "I want to die"), Turn("assistant", question), Turn("user", "yes"))
    assert rank(PATTERNS.assess(said).per_turn[2]) < rank("high")


@pytest.mark.parametrize("text", ["this morning", "yesterday", "earlier", "last night"])
def test_a_time_answers_a_question_of_danger_alone(text: str) -> None:
    grave = (Turn("user", "I'm going to kill myself, I have the pills"), Turn("assistant", "Thank you for telling me."))
    asked = (*grave, Turn("user", "ok"), Turn("assistant", "When did you last eat?"), Turn("user", text))
    assert PATTERNS.assess(asked).per_turn[-1] == "none"


@pytest.mark.parametrize(
    "pieces", [("honestly", "yes"), ("well", "um", "yes"), ("long day", "yes"), ("idk", "sometimes")]
)
def test_the_first_message_that_answers_does(pieces: tuple[str, ...]) -> None:
    turns = (Turn("user", "hi"), Turn("assistant", SUICIDE["en"]), *(Turn("user", piece) for piece in pieces))
    assert rank(PATTERNS.assess(turns).level) >= rank("moderate")


def test_a_reassurance_in_two_messages_is_one() -> None:
    turns = (Turn("user", "hi"), Turn("assistant", SUICIDE["en"]), Turn("user", "honestly"), Turn("user", "no"))
    assert WHOLE.assess(turns).level == "none"


@given(
    some.sampled_from(each(YES)),
    some.sampled_from([", I'm fine", ". I'm ok", ", don't worry", ", thanks", ", but im ok"]),
)
def test_reassuring_words_behind_a_yes_lower_nothing(pair: tuple[str, str], behind: str) -> None:
    language, text = pair
    plain, ended = asked(language, SUICIDE, text, PATTERNS), asked(language, SUICIDE, text + behind, PATTERNS)
    assert rank(ended) >= rank(plain) or answer(text + behind, [language, "en"]) is None


def test_not_yet_to_have_you_done_something_is_an_intent() -> None:
    asked = (Turn("assistant", "Have you taken anything?"), Turn("user", "not yet"))
    assert rank(PATTERNS.assess((Turn("user", "I wish I was dead"), *asked)).level) >= rank("high")


@pytest.mark.parametrize(
    "asked",
    [
        "Will you submit it tonight?",
        "Have you taken anything for the headache?",
        "Do you have eggs at home?",
        "Do you have a plan for dinner?",
        "¿Lo harás hoy?",
        "Machst du es heute?",
    ],
)
def test_questions_of_everyday_make_no_danger_of_a_yes(asked: str) -> None:
    turns = (Turn("user", "I need some help here"), Turn("assistant", asked), Turn("user", "yes"))
    assert PATTERNS.assess(turns).level == "none"


def test_a_yes_answers_both_things_that_one_question_asks() -> None:
    said = "Have you already done something to hurt yourself?"
    turns = (Turn("user", "I want to kill myself"), Turn("assistant", said), Turn("user", "yes"))
    assert PATTERNS.assess(turns).level == "imminent"


def test_an_answer_with_anything_else_in_it_is_no_answer() -> None:
    assert answer("no, the rope is in the car", ["en"]) is None
    assert answer("no, con las pastillas", ["es", "en"]) is None
    assert answer("", ["en"]) is None
    assert answer("no " * LONGEST, ["en"]) is None


def test_the_assistants_own_words_and_first_messages_are_no_answers() -> None:
    assert PATTERNS.assess((Turn("user", "no"),)).level == "none"
    assert PATTERNS.assess((Turn("user", "ok"), Turn("assistant", "no"))).level == "none"


@pytest.mark.parametrize("language", languages())
def test_every_phrase_of_a_file_is_read_as_an_answer(language: str) -> None:
    kinds = dict.fromkeys(kind for kind, _ in phrases(language))
    assert set(kinds) <= set(KINDS)
    for kind, phrase in phrases(language):
        for wording in list(expanded(phrase))[:40]:
            if wording in ("", "ok", "okay") or "*" in wording or kind == "filler" or len(wording) > LONGEST:
                continue
            found = answer(wording.replace(" ", "") if language in ("zh", "ja") else wording, [language])
            assert found is not None, (kind, wording)
            assert found.kinds, (kind, wording)


@pytest.mark.parametrize("wrong", ["(a|b", "a)", "[oa"])
def test_a_phrase_with_a_lost_bracket_says_where(wrong: str) -> None:
    with pytest.raises(ValueError, match="bracket"):
        list(expanded(wrong))


@given(some.text(max_size=120))
def test_any_text_is_an_answer_or_none(text: str) -> None:
    found = answer(text, languages())
    assert found is None or found.kinds <= set(KINDS) - {"filler"}


@given(some.sampled_from(each(NO) + each(YES)), some.sampled_from(["", "!", "...", " ", "\n", " 😢"]))
def test_what_stands_behind_an_answer_changes_nothing(pair: tuple[str, str], behind: str) -> None:
    language, text = pair
    plain, ended = answer(text, [language]), answer(text + behind, [language])
    assert plain is not None
    assert ended == plain


@pytest.mark.parametrize(
    ("language", "text"), [("en", "ok, yes"), ("en", "okay yeah"), ("es", "ok, sí"), ("de", "ok ja")]
)
def test_an_ok_takes_nothing_from_a_yes(language: str, text: str) -> None:
    assert rank(asked(language, SUICIDE, text, PATTERNS)) >= rank("moderate")
    assert answer("ok", [language]) is None


def test_i_am_safe_and_he_is_here_is_for_the_whole_message_to_tell() -> None:
    assert answer("I'm safe, he is here", ["en"]) is None


WANTS_TO_DIE = "i want to kill myself"


@pytest.mark.parametrize(
    ("question", "said", "least"),
    [
        ("Have you already done something to hurt yourself?", "yes im fine", "high"),
        ("Have you taken anything?", "yeah im okay", "high"),
        ("Are you thinking of acting on it tonight?", "yes all good", "high"),
        ("Is whatever you might use within reach?", "yes im ok", "high"),
        ("Hast du schon etwas genommen?", "ja alles gut", "high"),
        ("Is whatever you might use within reach?", "no already took it", "imminent"),
        ("Do you have a plan?", "i did it", "imminent"),
        ("Are you thinking about suicide?", "already took them", "high"),
        ("Have you already done something to hurt yourself?", "nothing serious", "moderate"),
        ("¿Ya hiciste algo para hacerte daño?", "nada grave", "moderate"),
        ("As-tu déjà fait quelque chose pour te faire du mal ?", "rien de grave", "moderate"),
        ("Hast du schon etwas getan, um dich zu verletzen?", "nichts schlimmes", "moderate"),
        ("Are you safe right now?", "safe soon", "moderate"),
        ("क्या आप सुरक्षित हैं?", "नहीं ठीक", "moderate"),
    ],
)
def test_an_answer_that_half_takes_itself_back_is_still_one(question: str, said: str, least: Level) -> None:
    turns = [Turn("user", WANTS_TO_DIE), Turn("assistant", question), Turn("user", said)]
    found = WHOLE.assess(turns)
    assert rank(found.per_turn[-1]) >= rank(least)
    assert "denies" not in found.signals


@pytest.mark.parametrize("said", ["yes", "kinda", "next to me", "yes, but i'm safe"])
def test_a_question_that_names_what_for_counts_wherever_the_talk_stood(said: str) -> None:
    asked = [Turn("user", "I feel really bad today"), Turn("assistant", "Is whatever you might use within reach?")]
    assert rank(WHOLE.assess([*asked, Turn("user", said)]).level) >= rank("high")


def test_an_empty_message_of_the_assistants_takes_no_question_back() -> None:
    asked = [Turn("assistant", "Are you safe right now?"), Turn("assistant", " ")]
    assert PATTERNS.assess([*asked, Turn("user", "no")]).level == "moderate"


@pytest.mark.parametrize("goodbye", ["Stay safe! Anything else?", "You're welcome. Stay safe!"])
def test_a_goodbye_is_no_safety_question(goodbye: str) -> None:
    turns = [Turn("user", "how do i boil eggs"), Turn("assistant", goodbye), Turn("user", "no")]
    assert WHOLE.assess(turns).level == "none"


@pytest.mark.parametrize("said", ["tonight", "today", "any minute now", "no, tonight"])
def test_a_time_of_hours_to_the_safety_question_is_one_of_the_death_that_was_named(said: str) -> None:
    for question in ("Are you safe right now?", "You're carrying a lot. Are you safe right now? Text 988."):
        turns = [Turn("user", WANTS_TO_DIE), Turn("assistant", question), Turn("user", said)]
        assert PATTERNS.assess(turns).level == WHOLE.assess(turns).level == "imminent"


@pytest.mark.parametrize("said", ["safe now", "yes, now", "i'm fine now", "yes today"])
def test_who_is_safe_now_names_no_hour(said: str) -> None:
    turns = [Turn("user", WANTS_TO_DIE), Turn("assistant", "Are you safe right now?"), Turn("user", said)]
    assert rank(WHOLE.assess(turns).per_turn[-1]) < rank("high")
