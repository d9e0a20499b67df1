"""Whether a sentence still stands when the one before it was left out: nothing may dangle or start in the middle."""

import re

_CONNECTS = (
    r"instead|then\b(?! (?:call|tell|who|what))|otherwise|however|even so|plus|or|nor|yet|besides|moreover|furthermore"
    r"|in that case|if so|if not"
    r"|after that|before that|until then|meanwhile|as a result|therefore|thus|hence|likewise|for (?:instance|example)"
    r"|which|because|and|but|also|another|the (?:other|second|next|latter|former)(?= )"
    r"|so(?! (?:are|is|can|could|what|who|how|much|tired|many|hard|heavy|long|alone|far))(?= )"
    r"|second(?:ly)?,|third(?:ly)?,|finally,|lastly,|next,|one more|both of|either way|in other words|meaning"
    r"|(?:all|none|most|some|each|any|neither|one) of (?:them|this|that|those|these)"
)
_POINTS = (
    r"that['’]?s|that (?:is|was|will|would|means|way|can|could|makes|said|helps|works)"
    r"|this (?:is|was|will|would|means|way|can|makes|helps)"
    r"|it['’](?:s|ll)|it (?:(?:really|always|only|also|just|often|can|may|might|usually) )?"
    r"(?:is|will|would|was|can|means|helps|works|takes|won['’]t|doesn['’]t|isn['’]t)"
    r"|those|these|they|them|their|there['’]s (?:also|another)"
)
_SPANISH = (
    r"en cambio|por eso|eso|esto|esos?|esas?|y|o bien|pero|porque|también|además|entonces|por lo tanto"
    r"|de lo contrario|si no,|así que|él|ella|ellos|ellas|ambos|otra cosa"
)
_OTHERS = (
    r"em vez disso|por isso|isso|mas|também|além disso|então|senão|ele|ela|eles"
    r"|donc|mais|aussi|sinon|alors|c['’]est pourquoi|il|elle|ils|ça|cela"
    r"|stattdessen|deshalb|darum|aber|auch|sonst|außerdem|dann|er|sie sind|das"
)
_LEANS = re.compile(rf"[\s\"'“*(¿¡-]*(?:{_CONNECTS}|{_POINTS}|{_SPANISH}|{_OTHERS})(?!\w)", re.IGNORECASE)
_ASKS_BACK = re.compile(
    r"[\s\"'“*(¿¡-]*(?:(?:and |so |but )?(?:does|would|could|can|is|was|do|did|will|has|are|(?:is|does)n['’]t) "
    r"(?:you (?:do|try|promise|agree to|see) )?(?:that|this|it|those|these|they|he|she)\b"
    r"|how (?:does|do|about) (?:that|this|it|those)"
    r"|what (?:do|did) you (?:think|say)(?: (?:about|of) (?:that|this|it))?\W*$"
    r"|(?:sounds?|okay|ok|deal|right|agreed|got it|makes? sense|understand)\b[^?]{0,8}\?"
    r"|(?:te parece|de acuerdo|vale|entiendes|lo har[ií]as|qu[eé] te parece)\b)",
    re.IGNORECASE,
)
_LISTED = re.compile(r"\s*(?:[-*•–]|\d{1,2}[.)])\s")


def leans(sentence: str) -> bool:
    """Whether the sentence makes no sense, or another one, without the sentence before it."""
    if sentence.rstrip(" \t\r\n\"'”’*_)").endswith("?"):
        return bool(_ASKS_BACK.match(sentence))
    return bool(_LEANS.match(sentence))


def listed(sentence: str) -> bool:
    """Whether the sentence is an item of a list: without the words that announced it, it answers nothing."""
    return bool(_LISTED.match(sentence))
