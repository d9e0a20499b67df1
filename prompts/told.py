"""What the person's own messages tell that changes our next words: what was done, who was called, what they wish for.

It chooses words and never a level: SHIELD alone says how grave it is. The patterns are small and precise; where none
fits, the words are the general ones.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from prompts import recognise

TOOK = r"(?:pills?|tablets?|meds|medicines?|medication|capsules?|bottles?|boxe?s?|packs?|bleach|poison|antifreeze|\d+)"
_TOOK_ES = r"(?:pastillas?|tabletas?|pildoras?|medicinas?|medicamentos?|frascos?|cajas?|todo|todas|todos|cloro|veneno)"

# What is denied or still to come is nothing that was done.
_NOT_DONE = re.compile(
    r"\b(?:not|never|havent|have not|hasnt|didnt|did not|wont|isnt|arent|no longer|no|nunca|todavia no|aun no)"
    r" (?:(?:me|lo|la|las|los|he|estoy|any|yet|really|actually|even) )*"
    r"(?:took|taken|take|swallow\w*|drank|drunk|cut|bleeding|overdosed|tom\w+|trag\w+|beb\w+|sangr\w+|on the \w+)"
)

# In this order: what is already in the body comes before where the person stands.
_ACTS = (
    (
        "swallowed",
        recognise.any_of(
            rf"(?:took|taken|swallowed|downed|ingested|ate) (?:\w+ ){{0,6}}{TOOK}",
            r"(?:took|taken|swallowed|drank|downed) (?:it|them|em|all of (?:it|them)|everything|something)"
            r"(?! (?:out|from|off|to|down from|apart))",
            r"(?:i|ive|have) (?:just |already )?drank (?:\w+ ){0,4}(?:bottle|all|bleach|poison|whole)",
            r"(?:ive |i |just )?(?:overdosed|oded|od d)",
            rf"(?:tome|trague|bebi|tomado|tragado|bebido) (?:\w+ ){{0,4}}{_TOOK_ES}",
            r"(?:me|ya) (?:las?|los?) (?:tome|trague|bebi|he tomado|he tragado)",
        ),
    ),
    (
        "wound",
        recognise.any_of(
            r"(?:i|ive|have) (?:\w+ ){0,2}(?:cut|slit|slashed|stabbed|sliced) (?:\w+ ){0,3}"
            r"(?:wrists?|arms?|legs?|throat|thighs?|neck|veins?|myself|deep|bad|badly)",
            r"bleeding|blood (?:everywhere|wont stop|all over)|shot myself",
            r"me (?:he )?(?:corte|cortado|apunale|dispare)|me abri las venas|sangrando|sangra mucho|hay mucha sangre",
        ),
    ),
    (
        "air",
        recognise.any_of(
            r"(?:engine|car|motor)s? (?:is |still )?running|engine (?:is )?on|exhaust|gas (?:is )?on|turned on the gas",
            r"motor (?:esta )?(?:encendido|prendido)|(?:abri|abierto) (?:el|la llave del) gas|gas abierto",
        ),
    ),
    (
        "place",
        recognise.any_of(
            r"(?:on|at|over|near|by|top of|sitting on) (?:the |a |my |this |top of )?(?:\w+ ){0,2}"
            r"(?:tracks?|rails|ledge|edge|railing|roof|rooftop|bridge|overpass|cliff|balcony|platform|parapet|garage)",
            r"(?:en|sobre|desde|junto a) (?:las?|los?|el|un|una|mi)? ?(?:\w+ )?"
            r"(?:vias?|rieles|cornisa|borde|puente|azotea|tejado|techo|balcon|barandal|barandilla|acantilado|anden)",
            r"al borde de (?!l?a? ?(?:locura|colapso|llanto))",
        ),
    ),
    (
        "means",
        recognise.any_of(
            r"(?:hand)?guns?|rifle|pistol|shotgun|revolver|kni(?:fe|ves)|blades?|razors?|rope|noose|loaded",
            r"pills?|in my hands?|in front of me",
            r"pistola|arma|escopeta|cuchillo|navaja|cuerda|soga|cargada|pastillas|en la mano|enfrente de mi",
        ),
    ),
)  # fmt: skip
_AWAY = recognise.any_of(
    r"i (?:moved|got (?:down|off|away|up)|stepped (?:back|away|down)|walked away|came (?:down|inside|back)|"
    r"put it (?:down|away))",
    r"im (?:off (?:it|the \w+)|back inside|inside now|away from (?:it|there))|(?:gave|handed) (?:it|them) to|"
    r"locked (?:it|them)",
    r"ya me (?:quite|aleje|baje|movi|aparte)|me (?:baje|aleje|aparte) (?:de|ya)|estoy adentro|(?:lo|la|"
    r"las) (?:guarde|deje|solte|entregue)",
)
_LEAVABLE = frozenset({"place", "means", "air"})

# Numbers for emergencies only: a crisis line that was called, such as 988 or 024, is no such call.
_NUMBER = r"(?:911|999|112|000|110|119|123|190|192|061|066)"
_EMERGENCY = (
    rf"(?:{_NUMBER}|the (?:police|cops|ambulance|paramedics)|(?:an? )?ambulance|police|"
    r"emergency(?: services)?|for help)"
)
_TEAM = r"(?:the |an? )?(?:ambulance|police|cops|paramedics|medics|ems|emts?|firefighters|help|officers?)"
_TEAM_ES = r"(?:la |los |las |una )?(?:ambulancia|policia|paramedicos|bomberos|ayuda)"
_CALLED = recognise.any_of(
    rf"(?:i|ive|we|weve|he|she|they|someone|somebody|my \w+|\w+) (?:just |already |have |has |finally ){{0,3}}"
    rf"(?:called|phoned|rang|rung|dialed|dialled) {_EMERGENCY}",
    rf"{_TEAM} (?:is|are|s)? ?(?:already )?(?:coming|on (?:its|the|their) way|en route)",
    rf"on (?:the )?(?:phone|line) with (?:{_EMERGENCY}|them|the operator|dispatch)",
    r"i(?:ve)? (?:just |already )?called(?: already| now)? (?:and )?(?:theyre|they are) coming",
    rf"(?:ya )?(?:llame|llamamos|he llamado|llamo mi \w+) (?:al? )?(?:(?:numero de )?emergencias?|{_NUMBER}|"
    r"la (?:policia|ambulancia)|una ambulancia)",
    rf"{_TEAM_ES} (?:ya )?(?:viene|vienen|esta en camino|estan en camino)(?: en camino)?",
)
_JUST_CALLED = re.compile(
    r"(?:ok |okay |yes |yeah |done ){0,2}(?:i|ive|we|weve) (?:just |already )?called(?: already| now| them)?"
)
_JUST_CALLED_ES = re.compile(
    r"(?:si |ok |listo ){0,2}(?:ya )?(?:llame|llamamos)(?: ya)?|ya vienen|vienen en camino|ya estan en camino"
)
_COMING = re.compile(r"(?:ok |okay |yes ){0,2}(?:theyre|they are) (?:coming|on (?:the|their) way)(?: now)?")
_UNDONE = re.compile(
    r"\b(?:but|didnt|havent|wont|not|nobody|no one|hung up|cant|cannot|never|should i|pero|no|nadie|colg\w+)\b"
)
_ARRIVED = recognise.any_of(
    rf"{_TEAM} (?:is|are|s|just|has|have)? ?(?:here|arrived|got here|inside|with (?:him|her|them|me|us))",
    rf"(?:llego|llegaron|ya (?:llego|llegaron|esta|estan)(?: aqui)?) {_TEAM_ES}",
    rf"{_TEAM_ES} (?:ya )?(?:llego|llegaron|esta aqui|estan aqui)",
)
_THEY_CAME = re.compile(
    r"(?:ok |okay |yes ){0,2}(?:theyre|they are|they) (?:just )?(?:here|arrived|got here|inside)(?: now)?|"
    r"ya (?:llegaron|estan aqui)"
)
_FOUND = recognise.any_of(
    r"(?:found|got|reached|heard from) (?:him|her|them)",
    r"(?:hes|shes|theyre|he is|she is|they are) (?:safe|ok|okay|alive|fine|home|alright|with (?:me|us|her \w+|"
    r"his \w+))(?: now)?",
    r"(?:he|she|they) (?:finally |just )?(?:answered|called me back|texted (?:me )?back|picked up)",
    r"(?:la|lo) (?:encontraron|encontramos|encontre)|(?:ella|el|ya) (?:esta|aparecio) (?:bien|a salvo|viv[oa])|"
    r"ya (?:contesto|aparecio)",
)
_BREATHING = recognise.any_of(
    r"(?:he|she|they)(?: is|s| are|re)? (?:still )?breathing|(?:has|have|got) a pulse|breathing (?:now|again|ok)",
    r"(?:hes|shes|theyre|he is|she is|they are) (?:\w+ )?(?:awake|conscious|talking|responding|moving)",
    r"(?:esta|sigue) (?:respirando|despiert[oa]|consciente|hablando|reaccionando)|(?:ya |si )?respira|ya desperto|"
    r"tiene pulso",
)
_LOST = re.compile(r"\b(?:not|isnt|arent|barely|hardly|stopped|wont|dead|no|nobody|apenas|dejo de|muert[oa])\b")

_PLACE_NAME = (
    r"(?!(?:the|her|his|my|their|a|an|bed|danger|trouble|pain|crisis|hospital|here|front|love|class|school|"
    r"surgery|jail|"
    r"public|tears|icu|shock|town|there|bad|serious|so|his|this|that|la|el|su|mi|casa|peligro|un|una|cama|crisis)\b)\w+"
)
_FAR = recognise.any_of(
    rf"(?:shes|hes|theyre|she is|he is|she lives|he lives|they live|they are) in (?:another|a different|{_PLACE_NAME})",
    r"(?:another|different|other) (?:state|country|city|continent|time ?zone)|other side of the (?:world|country)",
    r"\d+ (?:hours|hrs|miles|km|states) (?:away|from)|long distance|far away|know (?:her|his|their) address",
    r"play (?:\w+ )?online|met online|online friend|on discord|never met (?:him|her|them)|only the city",
    r"otr[oa] (?:pais|ciudad|estado|continente)|muy lejos|a \d+ (?:horas|kilometros|km)|por internet|en discord|"
    r"no se su direccion",
    rf"(?:ella|el) (?:vive|esta) en {_PLACE_NAME}",
)

_OTHER = recognise.any_of(
    rf"(?:(?:my|our|this|a|the) (?:\w+ )?)?(?:{recognise.PEOPLE}|guy|girl|wife|someone)(?: i (?:play|know|met|talk|"
    rf"game)(?: \w+){{1,2}})?"
    r"(?: who)? (?:is|has|hes|shes|wont|keeps|said|says|just|took|texted|posted|told|locked|wrote|sent|tried|"
    r"wants|cant|stopped)",
)
_ANOTHER = re.compile(r"\b(?:he|she|they|hes|shes|theyre|his|her|him|them)\b")
_I = re.compile(r"\b(?:i|im|ive|id|ill)\b(?: (\w+))?(?: (\w+))?")
# What a helper says of themselves, by the word after "I" or the one after that.
_HELPS = frozenset({
    "found", "see", "saw", "called", "call", "think", "heard", "asked", "ask", "tried", "try", "need", "live", "play",
    "just", "worried", "scared", "afraid", "keep", "said", "went", "talked", "met", "on", "in", "with", "at", "know",
})  # fmt: skip
_HELPS_AFTER = frozenset({"can", "cant", "could", "dont", "do", "am", "was", "have", "didnt"})
_HELPS_THEN = frozenset({
    "see", "hear", "know", "think", "reach", "get", "find", "understand", "scared", "worried", "afraid", "called",
})  # fmt: skip

_WISHES = (
    (
        "distraction",
        recognise.any_of(
            r"(?:im|i am|so|really|just) (?:\w+ )?bored(?! (?:of|with))|distract me|(?:need|want) a distraction",
            r"talk about (?:something|anything) (?:else|different|other)|change the (?:subject|topic)",
            r"tell me something (?:nice|good|funny|random|interesting)",
            r"(?:que|estoy|muy) aburrid[oa]|me aburro|distraeme|hablar de otra cosa|cambiar de tema|cuentame algo",
        ),
    ),
    (
        "bad_day",
        recognise.any_of(
            r"(?:had|having|been|its been|was) (?:a |such a |the |my )?(?:\w+ )?"
            r"(?:bad|rough|hard|terrible|awful|horrible|shitty|crappy|worst|tough|shit) (?:day|night|week|morning|"
            r"time)",
            r"un (?:mal dia|dia (?:\w+ )?(?:malo|horrible|dificil|pesado|terrible|feo))|una mala (?:noche|semana)",
        ),
    ),
    (
        "talk",
        recognise.any_of(
            r"(?:can|could|may) (?:i|we) (?:just |please |maybe ){0,3}(?:talk|chat|vent|rant)",
            r"(?:need|want|wanna|like) (?:someone|somebody|anyone|a friend) to (?:talk|listen)(?: to)?",
            r"(?:need|want|wanna) to (?:talk|vent)(?: to (?:someone|somebody|you|anyone))?",
            r"(?:is )?(?:anyone|anybody|someone|somebody) (?:there|here|around|awake|listening)|"
            r"will you talk (?:to|with) me",
            r"(?:puedo|podemos|podria|podriamos) (?:hablar|platicar|charlar|desahogarme)",
            r"(?:necesito|quiero|quisiera) (?:hablar|platicar|desahogarme|a alguien con quien hablar|"
            r"que alguien me escuche)",
            r"hay alguien(?: ahi| aqui)?|hablas conmigo",
        ),
    ),
)  # fmt: skip
_SHORT = 14
_TASK = re.compile(
    r"\b(?:about (?!something|anything|it|this|that|my day)\w+|order|account|invoice|refund|manager|agent|sales|"
    r"support|homework|code|sobre|pedido|cuenta|factura|gerente)\b"
)

_LINE = (
    r"(?:988|741741|it|them|that|the (?:number|line|hotline|lifeline)|that (?:number|line)|a (?:hotline|"
    r"helpline|crisis line)|samaritans)"
)
_TRIED = recognise.any_of(
    rf"(?:called|call|texted|tried|rang|phoned|dialed) (?:\w+ )?{_LINE}",
    r"(?:llame|escribi|marque|intente) (?:ya )?(?:a |al )?(?:la linea|ese numero|el numero|esa linea|988|ahi|"
    r"alli)|ya (?:llame|marque)",
)
_UNHEARD = recognise.any_of(
    r"on hold|(?:no ?one|nobody) (?:answer\w*|picked|replied|responded|came)|no (?:answer|reply|response)|hung up|busy|"
    r"waited|queue|wait(?:ing)? (?:time|for)|never (?:answered|replied|picked)|\d+ min\w*",
    r"en espera|nadie (?:contest\w+|respond\w+)|no (?:contest\w+|respond\w+)|colgaron|ocupad[oa]|espere|\d+ minutos",
)
_NO_NUMBERS = recognise.any_of(
    r"no (?:more )?(?:phone )?(?:numbers|hotlines|helplines) (?:please|pls)",
    r"(?:sin|no (?:quiero|me des|me mandes)(?: mas)?) (?:numeros|telefonos|lineas)",
)
_BABY = recognise.any_of(r"baby|newborn|infant|bebe|recien nacid[oa]")
_PICTURES = recognise.any_of(
    r"(?:keep|keeps|kept) (?:\w+ )?(?:picturing|imagining|seeing|thinking (?:of|about))",
    r"intrusive|(?:images|pictures|flashes) of",
    r"(?:me )?imagino|imagenes|pensamientos intrusivos|me vienen (?:\w+ )?(?:imagenes|ideas|pensamientos)",
)
_YOUNG = re.compile(
    r"\b(?:im|i am|tengo|i just turned) (?:only |solo |apenas )?(?:[6-9]|1[0-7])"
    r"(?= ?(?:anos|anitos|years? old|yo|yrs?)\b| ?(?:[.,;!]|$)| (?:and|y|but|pero)\b)"
)
_NOT_SUICIDAL = recognise.any_of(
    r"(?:im|i am|am|not) (?:not )?(?:\w+ )?(?:not )?suicidal",
    r"(?:dont|do not|never) (?:\w+ )?(?:want to|wanna) (?:die|kill myself|end (?:it|my life))",
    r"(?:not|never) (?:going to|gonna|thinking (?:of|about)|planning)(?: \w+)? (?:kill|suicide|killing|it|anything)",
    r"(?:would|could) never (?:do (?:that|it|anything)|kill|hurt)",
    r"no (?:quiero|voy a|pienso en|estoy pensando en) (?:morir\w*|matarme|suicid\w+|quitarme la vida)|"
    r"no es (?:nada )?de suicidio",
)
_IS_SUICIDAL = re.compile(r"(?:^|\b(?:yes|yeah|maybe) )(?:i think )?(?:im|i am) (?:\w+ )?suicidal\b")


@dataclass(frozen=True, slots=True)
class Told:
    """What was told. act: swallowed, wound, air, place, means, away, or "".

    report: called, arrived, found, breathing, since_called.

    of_another: every message speaks of somebody else. far: that person is out of reach. wish: talk, bad_day,
    distraction. line_failed: a crisis line was tried and nobody was reached. young: they said an age under eighteen.
    intrusive: unwanted pictures of harming a baby. no_numbers: the last message wants none.
    answered: what needs no asking again.
    """

    act: str = ""
    report: str = ""
    of_another: bool = False
    far: bool = False
    wish: str = ""
    line_failed: bool = False
    young: bool = False
    intrusive: bool = False
    no_numbers: bool = False
    answered: frozenset[str] = frozenset()


NOTHING = Told()


def read(turns: Sequence[tuple[str, str]]) -> Told:
    """What the person's messages tell; `turns` are (role, text) pairs, the last one theirs."""
    texts = [recognise.plain(text) for role, text in turns if role == "user"]
    if not texts:
        return NOTHING
    return Told(
        act=_act(texts),
        report=_report(texts),
        of_another=_of_another(texts),
        far=any(map(_FAR.search, texts)),
        wish=_wish(texts[-1]),
        young=is_young(texts),
        no_numbers=_NO_NUMBERS.search(texts[-1]) is not None,
        intrusive=any(_BABY.search(text) and _PICTURES.search(text) for text in texts),
        line_failed=bool(_TRIED.search(texts[-1]) and _UNHEARD.search(texts[-1])),
        answered=_answered(turns),
    )


def is_young(texts: Sequence[str]) -> bool:
    """Whether one of the person's messages says that they are under eighteen, in years."""
    return any(_YOUNG.search(recognise.plain(text)) for text in texts)


def _act(texts: Sequence[str]) -> str:
    left = False
    for text in reversed(texts):
        done = _NOT_DONE.sub(" ", text)
        found = next((name for name, pattern in _ACTS if pattern.search(done)), "")
        left = left or bool(_AWAY.search(text))
        if found:
            return "away" if left and found in _LEAVABLE else found
    return ""


def _report(texts: Sequence[str]) -> str:
    called = any(map(_has_called, texts[:-1]))
    last = texts[-1]
    parts = _parts(last)
    if _ARRIVED.search(last) or (called and any(map(_THEY_CAME.fullmatch, parts))):
        return "arrived"
    if _FOUND.search(last) and not _LOST.search(last):
        return "found"
    if _has_called(last):
        return "called"
    if _BREATHING.search(last) and not _LOST.search(last):
        return "breathing"
    return "since_called" if called else ""


def _has_called(text: str) -> bool:
    if _UNDONE.search(text):
        return False
    parts = _parts(text)
    bare = any(pattern.fullmatch(part) for part in parts for pattern in (_JUST_CALLED, _JUST_CALLED_ES, _COMING))
    return bare or _CALLED.search(text) is not None


def _parts(text: str) -> list[str]:
    return [part.strip() for part in re.split(r"[.,;!?…]+| and ", text) if part.strip()]


def _of_another(texts: Sequence[str]) -> bool:
    """Whether it is all about somebody else: whoever says a word about their own danger is never meant."""
    if not any(_OTHER.search(text) and _ANOTHER.search(text) for text in texts):
        return False
    return not any("myself" in text for text in texts) and all(
        _helps(first, second) for text in texts for first, second in _I.findall(text)
    )


def _helps(first: str, second: str) -> bool:
    return first in _HELPS or first.isdigit() or (first in _HELPS_AFTER and second in _HELPS_THEN)


def _wish(text: str) -> str:
    if len(text.split()) > _SHORT or _TASK.search(text):
        return ""
    if re.fullmatch(r"(?:hello|hola|hey|hi)\?+", text):
        return "talk"
    return next((name for name, pattern in _WISHES if pattern.search(text)), "")


def _answered(turns: Sequence[tuple[str, str]]) -> frozenset[str]:
    """The questions that were answered with a no: one that stood alone in our reply, or suicide by its name."""
    done: set[str] = set()
    for number, (role, text) in enumerate(turns):
        if role != "user":
            continue
        if _NOT_SUICIDAL.search(recognise.plain(text)) and not _IS_SUICIDAL.search(recognise.plain(text)):
            done.add("suicide")
        asked = (
            recognise.questions_asked(turns[number - 1][1]) if number and turns[number - 1][0] == "assistant" else ()
        )
        if len(asked) == 1 and recognise.starts_no(text):
            done.update(asked)
    return frozenset(done - {"safety"})
