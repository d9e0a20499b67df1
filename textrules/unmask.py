"""Reads what is written in disguise: leetspeak, spaced and dotted letters, stretched words, misspellings, slang, emoji.

Only words that matter to the rules are read, from a closed list: disguise alone means nothing. `unmasked` gives the edits that turn
the plain reading into the meant one; `textrules.normalise` keeps track of the positions.
"""

import re
from collections.abc import Iterator
from functools import cache, lru_cache
from itertools import product

Edit = tuple[int, int, str]  # half-open span of the plain reading, and what stands there instead

_WORDS = """
suicide suicidal kill killing killed killer myself yourself die dying died dead death cut cutting hurt hurting harm selfharm self hang
hanging noose rope overdose overdosed pills pill tablets gun shoot jump bridge blade blades razor bleed bleeding blood wrists
want wish wanna live living alive life end ending everything anymore nothing never forever sleep wake better without burden hopeless
worthless pointless useless goodbye sorry thoughts thought hate tired painless unalive unaliving method note plan
""".split()
_LONG = """
suicide suicidal myself killing anymore overdose goodbye hopeless worthless pointless disappear burden without everyone everything
nothing nobody forever better existing breathing tired painless thoughts depressed depression family funeral insurance ending thinking about living feeling
""".split()
_REAL = frozenset(
    {
        "bette",
        "etter",
        "beter",
        "bettr",
        "tried",
        "tire",
        "tied",
        "tied",
        "ired",
        "thought",
        "though",
        "noting",
        "family",
    }
)
_MEANT = {
    "wana": "want to", "wanna": "want to", "wnna": "want to", "wann": "want to", "gonna": "going to", "gunna": "going to", "gon": "going to",
    "finna": "going to", "gotta": "got to", "tryna": "trying to", "u": "you", "ur": "your", "r": "are", "y": "why", "thx": "thanks",
    "ppl": "people", "evry1": "everyone", "every1": "everyone", "evry": "every", "evrything": "everything", "no1": "no one",
    "noone": "no one", "sum1": "someone", "some1": "someone", "ne1": "anyone", "any1": "anyone", "b4": "before", "2nite": "tonight",
    "2night": "tonight", "tonite": "tonight", "2day": "today", "2moro": "tomorrow", "tmrw": "tomorrow", "tmr": "tomorrow",
    "cuz": "because", "bc": "because", "cos": "because", "w": "with", "w/o": "without", "wo": "without", "abt": "about",
    "rly": "really", "rlly": "really", "srsly": "seriously", "dnt": "dont", "dont": "dont", "didnt": "didnt", "cnt": "cant", "ima": "im going to",
    "imma": "im going to", "im": "im", "iam": "im", "lyf": "life", "lyfe": "life", "liv": "live", "ded": "dead", "dieing": "dying",
    "dyin": "dying", "killin": "killing", "kil": "kill", "kll": "kill", "kys": "kill yourself", "unalive": "kill",
    "unaliving": "killing", "unalived": "killed", "sewerslide": "suicide", "suwerslide": "suicide", "suislide": "suicide", "toaster": "toaster",
    "suicidle": "suicidal", "suicidial": "suicidal", "suisidal": "suicidal", "sucidal": "suicidal", "suicde": "suicide", "sucide": "suicide",
    "suside": "suicide", "suacide": "suicide", "sewicide": "suicide", "soocide": "suicide", "tird": "tired", "tierd": "tired",
    "exsist": "exist", "exsisting": "existing", "exhist": "exist", "dissapear": "disappear", "disapear": "disappear", "dissappear": "disappear",
    "alot": "a lot", "wich": "which", "nvr": "never", "nevr": "never", "neva": "never", "culd": "could", "wuld": "would", "shud": "should",
    "shld": "should", "wud": "would", "cud": "could", "tok": "took", "tuk": "took", "pilz": "pills", "pillz": "pills", "pils": "pills",
    "skared": "scared", "scard": "scared", "luv": "love", "frend": "friend", "freind": "friend", "frnd": "friend", "bff": "best friend",
    "sux": "sucks", "rn": "right now", "idk": "i dont know", "idc": "i dont care", "ik": "i know", "idw": "i dont want to",
    "idwtl": "i dont want to live", "idwta": "i dont want to", "kms": "kill myself", "unalivin": "killing", "thinkin": "thinking", "livin": "living", "hurtin": "hurting", "cuttin": "cutting",
    "tryin": "trying", "feelin": "feeling", "endin": "ending", "adn": "and", "teh": "the", "thik": "think", "thnk": "think", "iwtd": "i want to die", "wtd": "want to die", "ctb": "catch the bus",
    "sh": "self harm", "sh'd": "self harmed", "thru": "through", "thot": "thought", "thots": "thoughts", "ngl": "honestly", "tbh": "honestly",
    "beter": "better", "bettr": "better", "wifout": "without", "wivout": "without", "worthles": "worthless", "hopless": "hopeless", "burdon": "burden",
    "burdan": "burden", "anymor": "anymore", "nemore": "anymore", "nomore": "no more", "slep": "sleep", "sleap": "sleep", "wke": "wake",
    "realy": "really", "relly": "really", "jus": "just", "jst": "just", "wen": "when", "wat": "what", "wot": "what", "wanting2": "wanting to",
    "everyones": "everyones", "evryone": "everyone", "everone": "everyone", "noboby": "nobody", "2": "to", "4ever": "forever", "4eva": "forever",
    "sewer": "sewer", "slide": "slide", "sory": "sorry", "goodby": "goodbye", "gudbye": "goodbye", "gbye": "goodbye", "bai": "bye",
}  # fmt: skip
_PHRASES = re.compile(r"\b(?:sewer slide|s3wer slid[e3]|sue a side|soup a side|s word)\b")
_EMOJI = {
    "🔫": "gun", "💊": "pills", "🔪": "knife", "🪒": "razor", "🩸": "blood", "⚰": "coffin", "🪦": "grave", "🪢": "noose", "🧨": "bomb",
    "🌉": "bridge", "🚆": "train", "😭": "", "🥀": "", "🚪": "door", "✂": "cut",
}  # fmt: skip
_LEET = {"0": "o", "1": "il", "3": "e", "4": "a", "5": "s", "7": "t", "8": "b", "9": "g", "@": "a", "$": "s", "!": "i", "|": "il", "€": "e",
         "+": "t", "ı": "i", "£": "l", "(": "c", "¡": "i", "6": "g", "2": "z"}  # fmt: skip
_CONFUSED = str.maketrans(
    "аеорсхуіјѕԁһкмтвнпгԛԝɡɩΙαερντοικυχγηωꞵßᴀʙᴄᴅᴇꜰɢʜɪᴊᴋʟᴍɴᴏᴘʀꜱᴛᴜᴠᴡʏᴢłøđħ",
    "aeopcxyijsdhkmtbhnrqwgilaepvtoikuxynwbbabcdefghijklmnoprstuvwyzlodh",
)
_WILD = "*#_-%?^."
_DISGUISED = re.compile(
    r"(?<![\w@$!|*#])(?=\S{0,13}[a-z])(?=\S{0,13}[0-9@$!|*#%+€£^])[a-z0-9@$!|*#%+€£^]{3,14}(?![\w@$|*#])"
)
_SPACED = re.compile(r"(?<![^\W_])(?:[^\W_][ .\-_*|/,~+]{1,3}){3,40}[^\W_](?![^\W_])")
_INNER = re.compile(r"(?<![^\W_])[a-z]{1,9}(?:[.\-_*|/~][a-z]{1,9}){1,6}(?![^\W_])")
_LONGER = re.compile(r"(?<![a-z])[a-z]{3,120}(?![a-z])")
_WORD = re.compile(r"[a-z0-9]+")
_MIXED = re.compile(r"(?<!\S)\S{2,60}(?!\S)")
_HINT = re.compile(
    r"sewer sl|sue a side|[^\x00-\x7f]|([a-z])\1\1|[a-z][0-9@$!|*#%+^][a-z0-9]|(?:^|\s)[0-9@$][a-z]|[a-z][.\-_*|/~][a-z]|\b\w[ .\-_*|/,~+]{1,3}\w[ .\-_*|/,~+]{1,3}\w\b"
)


@cache
def _lexicon() -> frozenset[str]:
    return frozenset((*_WORDS, *_LONG))


@cache
def _meant() -> dict[str, str]:
    """Words that stand for others: slang, known misspellings, and one slip of the finger in a long word."""
    table = {slip: word for word in _LONG for slip in _slips(word) if slip not in _REAL and slip not in _lexicon()}
    return table | {word: said for word, said in _MEANT.items() if word != said}


def _slips(word: str) -> Iterator[str]:
    for at in range(len(word)):
        if len(word) > 5:
            yield word[:at] + word[at + 1 :]
        yield word[: at + 1] + word[at:]
        if at + 1 < len(word):
            yield word[:at] + word[at + 1] + word[at] + word[at + 2 :]


def unmasked(text: str) -> list[Edit]:
    """The edits, in order and apart from each other; none for a text without disguise."""
    edits: list[Edit] = []
    meant = _meant()
    if not meant.keys().isdisjoint(text.split()) or any(c in text for c in ".,!?") or " " not in text:
        edits += [
            (m.start(), m.end(), meant[m[0]])
            for m in _WORD.finditer(text)
            if m[0] in meant and not _unit(text, m.start())
        ]
    if _HINT.search(text):
        edits += _tricks(text)
    return _apart(edits)


def _unit(text: str, at: int) -> bool:
    """Whether a number stands before the word: "5 kms" is a distance."""
    return text[:at].rstrip()[-1:].isdigit()


def _tricks(text: str) -> Iterator[Edit]:
    for match in _PHRASES.finditer(text):
        yield match.start(), match.end(), "suicide"
    for pattern, reader in _READERS:
        for match in pattern.finditer(text):
            meant = reader(match[0])
            if meant and meant != match[0]:
                yield match.start(), match.end(), meant
    if not text.isascii():
        yield from ((at, at + 1, f" {_EMOJI[char]} ") for at, char in enumerate(text) if char in _EMOJI)


def _spaced(said: str) -> str:
    letters = re.sub(r"[^\w]|_", "", said)
    return _split(letters) or _split(_leet(letters))


def _split(letters: str) -> str:
    """The letters as words of the list, longest first; empty if they cannot be read so."""
    words: list[str] = []
    while letters:
        for size in range(min(len(letters), 10), 0, -1):
            if letters[:size] in _lexicon() or letters[:size] in _SMALL:
                words.append(letters[:size])
                letters = letters[size:]
                break
        else:
            return ""
    return " ".join(words) if any(word in _lexicon() for word in words) else ""


_SMALL = frozenset(
    {
        "i",
        "im",
        "my",
        "to",
        "a",
        "it",
        "all",
        "me",
        "do",
        "dont",
        "be",
        "of",
        "no",
        "so",
        "the",
        "and",
        "am",
        "want",
        "in",
    }
)


def _inner(said: str) -> str:
    letters = re.sub(r"[^a-z]", "", said)
    return letters if letters in _lexicon() else ""


@lru_cache(maxsize=2048)
def _leet(said: str) -> str:
    """The word of the list that is meant, trying every reading of each sign; a starred letter stands for any."""
    if len(said) > 14:
        return ""
    choices = [_LEET.get(char, char) for char in said]
    if sum(len(choice) > 1 for choice in choices) <= 4:
        for reading in map("".join, product(*choices)):
            if reading in _lexicon() or reading in _meant():
                return _meant().get(reading, reading)
    if any(char in _WILD for char in said) and sum(char in _WILD for char in said) <= len(said) // 2:
        shape = re.compile("".join("[a-z]" if char in _WILD else re.escape(char) for char in said))
        return next((word for word in _WORDS if shape.fullmatch(word)), "")
    return ""


@lru_cache(maxsize=2048)
def _longer(said: str) -> str:
    if not (runs := re.split(r"(([a-z])\2{2,})", said))[1:]:
        return ""
    pieces = [[piece] for piece in runs[::3]]
    doubled = runs[2::3]
    for mask in product((1, 2), repeat=min(len(doubled), 6)):
        word = pieces[0][0] + "".join(c * n + p[0] for c, n, p in zip(doubled, mask, pieces[1:], strict=False))
        if word in _lexicon() or word in _meant():
            return _meant().get(word, word)
    return re.sub(r"([a-z])\1{2,}", r"\1", said)


def _mixed(said: str) -> str:
    if said.isascii():
        return ""
    plain = said.translate(_CONFUSED)
    core = re.sub(r"^\W+|\W+$", "", plain)
    return (
        plain
        if plain != said and plain.isascii() and (core in _lexicon() or any("a" <= c <= "z" for c in said))
        else ""
    )


_READERS = ((_SPACED, _spaced), (_DISGUISED, _leet), (_INNER, _inner), (_LONGER, _longer), (_MIXED, _mixed))


def _apart(edits: list[Edit]) -> list[Edit]:
    """In order, and of two that overlap the longer one."""
    kept: list[Edit] = []
    for edit in sorted(edits, key=lambda one: (one[0], one[0] - one[1])):
        if not kept or edit[0] >= kept[-1][1]:
            kept.append(edit)
        elif edit[1] - edit[0] > kept[-1][1] - kept[-1][0]:
            kept[-1] = edit
    return kept
