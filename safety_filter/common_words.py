"""Words by which text is known to be text: the small words of the languages we judge, and the words of a crisis."""

import re
from functools import cache
from importlib.resources import files

_COMMON = (
    "a about after again ahora al all am an and any aqui are as at au auf avec back be because been "
    "before being bist but by can ce com como con could da dans das de del dem den der des did die do "
    "does down du e ein eine el elle em en es est esta estas este esto estoy et etes eu for from fur get "
    "go had has have hay he help her here hier him his how i ich if il im in into is ist it its je just "
    "know la las le les like lo los mas me mi might mit more my nao ne nicht no not now o of off on one "
    "or os other our out over para pas people pero please por pour puedes que qui right safe se seu she "
    "si sie sin so some someone soy stay still su sua suis sur te that the their them then there these "
    "they this those to tonight too tu um uma un una und une up us very voce vous want was way we were "
    "what when where which while who why will wir with would y ya yes you your youre zu "
    "qué quién cómo dónde cuándo está estás más también hay cuando cada todo toda esa ese eso muy bien hoy desde "
    "não isso você já só tem essa esse até à où d'abord cette ce ces niemand jemand sollte einen bitte "
    "che chi di è più non nobody another alone than better take until "
    "votre vos notre mon ton mes tes leur avant tout toute tous sans chez donc quand maintenant "
    "dein deine deinen mein meine auch noch nur schon jetzt doch wenn wann kann kannst bei nach vor "
    "meu minha seus suas está agora aqui quando sempre sus tus nos son ahora siempre alguien nadie "
    "away eleven type suena agotador allons lentement vamos podemos abord écris appelle schreib bleib "
)
COMMON = frozenset(_COMMON.split())
"""Almost every sentence of a language we judge has one of these: text without any may be in code."""

_GRAVE = (
    "kill killing yourself myself suicide suicidal die dead death dying overdose pill pills tablet tablets dose doses "
    "hang hanging jump cut cutting noose rope bleed blade razor drown poison lethal painless bridge end life swallow "
    "shoot worthless burden nobody matate suicidate muerte morir pastillas"
)
GRAVE = frozenset(_GRAVE.split())
"""Words that somebody would have a reason to hide."""


@cache
def known() -> frozenset[str]:
    """Words of the languages we judge, gathered from our own corpora (scripts/known-words)."""
    return frozenset((files("safety_filter") / "data/known_words.txt").read_text(encoding="utf-8").split())


_WORD = re.compile(r"[^\W\d_]+")


def latin_words(text: str) -> list[str]:
    """The words of a text in lower case, without digits and signs."""
    return _WORD.findall(text.lower())
