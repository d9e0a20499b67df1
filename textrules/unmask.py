"""Reads what is written in disguise: leetspeak, spaced and dotted letters, stretched words, misspellings, slang, emoji.

Only known words are read, those of disguises.toml and of textrules.vocabulary: disguise alone means nothing.
`unmasked` gives the edits that turn the plain reading into the meant one; `textrules.normalise` keeps the positions.
"""

import re
import tomllib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import cache, lru_cache
from importlib.resources import files
from itertools import groupby, product
from operator import itemgetter
from string import ascii_lowercase
from typing import NamedTuple

from textrules.database import Database
from textrules.vocabulary import known, undoubled

Edit = tuple[int, int, str]  # half-open span of the plain reading, and what stands there instead

_PHRASES = re.compile(r"\b(?:sewer slide|s3wer slid[e3]|sue a side|soup a side|s word)\b")
_LEET = {
    "0": "o",
    "1": "il",
    "3": "e",
    "4": "a",
    "5": "s",
    "6": "g",
    "7": "t",
    "8": "b",
    "9": "g",
    "2": "z",
    "@": "a",
    "$": "s",
    "!": "i",
    "|": "il",
    "€": "e",
    "+": "t",
    "ı": "i",
    "£": "l",
    "(": "c",
    "¡": "i",
}
_CONFUSED = str.maketrans(
    "аеорсхуіјѕԁһкмтвнпгԛԝɡɩΙαερντοικυχγηωꞵßᴀʙᴄᴅᴇꜰɢʜɪᴊᴋʟᴍɴᴏᴘʀꜱᴛᴜᴠᴡʏᴢłøđħ",
    "aeopcxyijsdhkmtbhnrqwgilaepvtoikuxynwbbabcdefghijklmnoprstuvwyzlodh",
)
_WILD = frozenset("*#_-%?^.")
_DISGUISED = re.compile(
    r"(?<![\w@$!|*#])(?=\S{0,13}[a-z])(?=\S{0,13}[0-9@$!|*#%+€£^])[a-z0-9@$!|*#%+€£^]{3,14}(?![\w@$|*#])"
)
_MARKS = " .-_*|/,~+"
_SPACED = re.compile(rf"(?<![^\W_])(?:[^\W_][{re.escape(_MARKS)}]{{1,3}}){{3,40}}[^\W_](?![^\W_])")
_INNER = re.compile(r"(?<![^\W_])[a-z]{1,9}(?:[.\-_*|/~][a-z]{1,9}){1,6}(?![^\W_])")
_LONGER = re.compile(r"(?<![a-z])[a-z]{3,120}(?![a-z])")
_WORD = re.compile(r"[a-z0-9]+")
_LETTERS = re.compile(r"(?<!\w)[a-z]{4,}(?!\w)")
_SIGNS = re.compile(r"(?<![\w@$!|+€£])(?=[a-z]*[0-9@$!|+€£])[a-z0-9@$!|+€£]*[a-z0-9@$|+€£](?![\w@$|+€£])")
_MEASURE = re.compile(r"\d+(?:st|nd|rd|th|am|pm|m?g|kg|[ckm]?m|ml|yo|yrs?|mins?|h|hrs?|k|s|x|f|d|p|er|te|ter)")
_SIGN = r"[^\w\s\x00-\u2190\u3000-\u303f\uff00-\uffef]"
_PICTURE = re.compile(rf"(?<!{_SIGN}){_SIGN}++(?=\s*[^\W_])")  # each run is read once: a wall of pictures costs no more
_ALIKE = "".join(map(chr, _CONFUSED))
_MIXED = re.compile(rf"(?<!\S)[\x00-\x08\x0e-\x1b!-\x7f{_ALIKE}]+(?!\S)")
_LATIN = re.compile(rf"(?<!\w)[a-z{_ALIKE}]+(?!\w)")
_LETTER = r"[A-Za-z0-9\x{80}-\x{10ffff}]"  # anything beyond ASCII may be a letter
_KINDS = {
    "phrase": "sewer slid|s3wer slid|sue a side|soup a side|s word",
    "spaced": rf"{_LETTER}(?:[ .\-_*|/,~+]{{1,3}}{_LETTER}){{3}}",
    "signs": r"[a-z]\S*[0-9@$!|*#%+€£^]|[0-9@$!|*#%+€£^]\S*[a-z]",
    "inner": r"[a-z][.\-_*|/~][a-z]",
    "stretched": "|".join(letter * 3 for letter in ascii_lowercase),
    "leetspeak": "[a-z][0-9@$!|+€£]|[0-9@$!|+€£][a-z]",
}
_HINT = "|".join(
    (
        "sewer sl|sue a side",
        _KINDS["stretched"],
        "[a-z][0-9@$!|*#%+^][a-z0-9]",
        r"(?:^|[\s\x1c-\x1f])[0-9@$][a-z]",
        _KINDS["inner"],
        r"\b\w[ .\-_*|/,~+]{1,3}\w[ .\-_*|/,~+]{1,3}\w\b",
    )
)


class _Lists(NamedTuple):
    """disguises.toml as it is used."""

    lexicon: frozenset[str]
    starred: dict[tuple[int, str, str], tuple[str, ...]]  # words by length, first and last letter; "" is any letter
    meant: dict[str, str]
    said: dict[str, str]  # what each word of the lexicon and of `meant` says
    emoji: dict[str, str]
    done: dict[str, str]


@cache
def _hints() -> Database:
    """What no plain ASCII writing has. Anything beyond ASCII is a hint of its own."""
    return Database([_HINT], cached=False)


@cache
def _kind(kind: str) -> Database:
    """What no disguise of the kind can do without. Each has its own: all in one take 20 times as long to compile."""
    return Database([_KINDS[kind]], cached=False)


@cache
def _lists() -> _Lists:
    raw = tomllib.loads((files("textrules") / "disguises.toml").read_text(encoding="utf-8"))
    lexicon = frozenset((*raw["words"], *raw["long"]))
    real = frozenset(raw["real"]) | lexicon
    slips = {slip: word for word in raw["long"] for slip in _slips(word) if slip not in real}
    meant = slips | raw["meant"]
    said = {word: word for word in lexicon} | meant
    return _Lists(lexicon, _starred(raw["words"]), meant, said, raw["emoji"], raw["done"])


def _starred(words: Iterable[str]) -> dict[tuple[int, str, str], tuple[str, ...]]:
    found: dict[tuple[int, str, str], tuple[str, ...]] = {}
    for word in words:
        for key in product((len(word),), (word[0], ""), (word[-1], "")):
            found[key] = (*found.get(key, ()), word)
    return found


@cache
def _ordinary() -> frozenset[str]:
    """Known words that are nothing else in disguise: most of what is written. Each is a word of letters alone."""
    return frozenset(word for word in known() if word not in _lists().meant and not _THRICE.search(word))


@cache
def _stretchable() -> dict[str, list[str]]:
    """Words that may be stretched, by their letters without repetition: a list's first, then the most frequent."""
    words = [*sorted(filter(str.isalpha, _lists().said), key=_runs), *known()]
    found: dict[str, list[str]] = {}
    for word, once in zip(words, undoubled("\n".join(words)).split("\n"), strict=True):
        found.setdefault(once, []).append(word)
    return found


def spelled() -> frozenset[str]:
    """Every word that something is unmasked to by a list."""
    lists = _lists()
    return frozenset(word for said in (*lists.lexicon, *lists.meant.values()) for word in said.split())


def _slips(word: str) -> Iterator[str]:
    for at in range(len(word)):
        if len(word) > 5:
            yield word[:at] + word[at + 1 :]
        yield word[: at + 1] + word[at:]
        if at + 1 < len(word):
            yield word[:at] + word[at + 1] + word[at] + word[at + 2 :]


def unmasked(text: str) -> list[Edit]:
    """The edits, in order and apart from each other; none for a text without disguise.

    Most disguises have no blanks inside. They are looked for in the words that are not ordinary, each once, and in the
    whole text only when there is one.
    """
    rest = set(text.split()).difference(_ordinary())
    odd = " ".join(rest)
    words = set(_WORD.findall(odd))
    edits = [*_slang(text, words), *_slipped(text, words)]
    if not text.isascii() or _hints().scan(text.encode()):
        edits += _tricks(text, odd)
    return _apart(edits) if edits else edits


def _slang(text: str, words: set[str]) -> list[Edit]:
    meant = _lists().meant
    if meant.keys().isdisjoint(words) or not (
        not meant.keys().isdisjoint(text.split()) or any(c in text for c in ".,!?") or " " not in text
    ):
        return []
    return [
        (m.start(), m.end(), meant[m[0]]) for m in _WORD.finditer(text) if m[0] in meant and not _unit(text, m.start())
    ]


def _slipped(text: str, words: set[str]) -> list[Edit]:
    """Slips of the finger in words that nobody knows, where most other words are known ones."""
    meant = _lists().meant
    slip = known().slip
    slips = {word: said for word in words if (said := slip(word)) and word not in meant}
    if not slips:
        return []
    new = sum(word not in meant and not word.isdigit() for word in known().unknown(words))
    if 2 * new > len(_WORD.findall(text)):
        return []
    return [(m.start(), m.end(), slips[m[0]]) for m in _LETTERS.finditer(text) if m[0] in slips]


_BEFORE = 16  # characters, blank ones, that are looked at first: a long text is not copied for each of its words


def _unit(text: str, at: int) -> bool:
    """Whether a number stands before the word: "5 kms" is a distance."""
    near = text[max(0, at - _BEFORE) : at].rstrip() or text[:at].rstrip()
    return near[-1:].isdigit()


def _tricks(text: str, odd: str) -> Iterator[Edit]:
    """Every other disguise; `odd` has the words that are not ordinary, each once."""
    data = text.encode("utf-8", "replace")
    kinds = {kind for kind in _KINDS if _kind(kind).scan(data)}
    if "phrase" in kinds:
        yield from ((match.start(), match.end(), "suicide") for match in _PHRASES.finditer(text))
    if "spaced" in kinds:
        said = ((match, _spaced(match[0])) for match in _SPACED.finditer(text))
        yield from ((match.start(), match.end(), word) for match, word in said if word and word != match[0])
    if "signs" in kinds:
        yield from _read(_DISGUISED, text, odd, _signed)
    if "inner" in kinds:
        yield from _read(_INNER, text, odd, _inner)
    if "stretched" in kinds:
        yield from _read(_LONGER, text, odd, _stretched)
    mixed = {} if text.isascii() else _mixed(odd)
    if mixed:
        yield from ((m.start(), m.end(), mixed[m[0]]) for m in _WHOLE.finditer(text) if m[0] in mixed)
    if "leetspeak" in kinds:
        yield from _leetspeak(text)
    if not text.isascii():
        yield from _pictures(text)
    if mixed:
        yield from _confused(text)


def _read(
    pattern: re.Pattern[str], text: str, odd: str, reader: Callable[[Collection[str]], Mapping[str, str]]
) -> list[Edit]:
    """What the pattern finds in the text and the reader reads; first in `odd`, where nearly all texts have nothing."""
    found = set(pattern.findall(odd))
    said = reader(found) if found else {}
    return [(m.start(), m.end(), said[m[0]]) for m in pattern.finditer(text) if m[0] in said] if said else []


def _pictures(text: str) -> Iterator[Edit]:
    """Pictures as the words that they stand for; those that only stand between words as nothing."""
    emoji, done = _lists().emoji, _lists().done
    if "to " in text:
        yield from ((m.start(), m.end(), done[m[0]]) for m in _to_do().finditer(text))
    yield from ((m.start(), m.end(), f" {emoji[m[0]]} ") for m in _telling().finditer(text))
    for match in _PICTURE.finditer(text):
        if emoji.keys().isdisjoint(match[0]):
            yield match.start(), match.end(), " "


@cache
def _telling() -> re.Pattern[str]:
    """A picture that stands for a word."""
    return re.compile(f"[{''.join(_lists().emoji)}]")


@cache
def _to_do() -> re.Pattern[str]:
    """A picture in the place of a verb."""
    return re.compile(f"(?<=\\bto )(?:{'|'.join(_lists().done)})")


def _confused(text: str) -> Iterator[Edit]:
    """Words all of whose letters look like Latin ones, in a text of Latin letters and of words that mix both."""
    for match in _LATIN.finditer(text):
        plain = match[0].translate(_CONFUSED)
        if plain in known():
            yield match.start(), match.end(), plain


_LEETSPEAK = 3  # words in leetspeak make a text leetspeak, and its numbers words


def _leetspeak(text: str) -> list[Edit]:
    """Every word of a text that is leetspeak throughout: there "1" is a word, and no number."""
    signed = [said for said in _SIGNS.findall(text) if not said.isalpha()]
    mixed = [said for said in signed if said.islower()]  # some letter among signs, which have no case
    if len(mixed) < _LEETSPEAK:
        return []
    meant = {said: known().best(readings) for said, readings in _readings(set(signed)).items()}
    read = sum(bool(meant[said]) for said in mixed)
    if read < _LEETSPEAK or 2 * read < len(mixed):
        return []
    words = {said: word or _plainest(said) for said, word in meant.items()}
    return [(m.start(), m.end(), word) for m in _SIGNS.finditer(text) if (word := words.get(m[0]))]


def _plainest(said: str) -> str:
    return "" if said.isdigit() else said.translate(_SIGNED)


def _readings(words: Collection[str]) -> dict[str, list[str]]:
    """Each way to read the signs of each word as letters; none where that would be too many.

    All words are translated at once, because one by one that would be most of the work.
    """
    text = "\n".join(words)
    first, last = (text.translate(table).split("\n") for table in (_SIGNED, _SIGNED_LAST))
    found: dict[str, list[str]] = {}
    for word, one, other in zip(words, first, last, strict=True):
        ambiguous = 0 if one == other else sum(map(word.count, _AMBIGUOUS))
        if ambiguous <= 1:
            found[word] = [one, other] if ambiguous else [one]
        elif ambiguous <= _MOST_AMBIGUOUS:
            found[word] = list(map("".join, product(*(_LEET.get(char, char) for char in word))))
        else:
            found[word] = []
    return found


_SIGNED = str.maketrans({sign: letters[0] for sign, letters in _LEET.items()})
_SIGNED_LAST = str.maketrans({sign: letters[-1] for sign, letters in _LEET.items()})
_AMBIGUOUS = tuple(sign for sign, letters in _LEET.items() if len(letters) > 1)
_MOST_AMBIGUOUS = 4


@lru_cache(maxsize=2048)
def _spaced(said: str) -> str:
    """Spaced letters as known words; as one word where they are none, because nobody spells out a whole sentence."""
    letters = said
    for mark in _MARKS:
        letters = letters.replace(mark, "")
    if letters.isdigit():
        return ""
    words = known().split(letters) or _split(_leet(letters)) or (letters if letters.isalpha() else "")
    return words if _ordinary().issuperset(read := words.split()) else " ".join(map(_unspaced, read))


def _unspaced(word: str) -> str:
    return _lists().meant.get(word) or _stretched([word]).get(word) or word


def _split(letters: str) -> str:
    """The letters of a list's word, as they stand."""
    return letters if letters in _lists().lexicon else ""


_UNMARKED = str.maketrans("", "", ".-_*|/~")


def _inner(words: Collection[str]) -> dict[str, str]:
    """Words with marks between their letters or, of a listed one, between its parts."""
    lexicon, vocabulary = _lists().lexicon, known()
    bare = "\n".join(words).translate(_UNMARKED).split("\n")
    return {
        said: letters
        for said, letters in zip(words, bare, strict=True)
        if letters in lexicon or (letters in vocabulary and len(said) - len(letters) >= len(letters) - 2 > 1)
    }


_SURE = 4  # characters: three signs and letters are a grade, a gate or a size as often as a word


def _signed(words: Collection[str]) -> dict[str, str]:
    readings = _readings(words)
    return {said: word for said in words if (word := _meant(said, readings[said])) and word != said}


def _leet(said: str) -> str:
    return _meant(said, _readings([said])[said]) if len(said) <= _LONGEST else ""


_LONGEST = 14  # characters of a word with signs


def _meant(said: str, readings: list[str]) -> str:
    """The word of the list that is meant by one of the readings; a starred letter stands for any."""
    listed = _lists().said
    for reading in readings:
        if reading in listed:
            return listed[reading]
    if len(said) >= _SURE and (word := known().best(readings)) and not _MEASURE.fullmatch(said):
        return word
    return _unstarred(said)


def _unstarred(said: str) -> str:
    if _WILD.isdisjoint(said):
        return ""
    first, last = said[0], said[-1]
    alike = _lists().starred.get((len(said), "" if first in _WILD else first, "" if last in _WILD else last))
    if not alike or sum(char in _WILD for char in said) > len(said) // 2:
        return ""
    return next((word for word in alike if all(a == b or a in _WILD for a, b in zip(said, word, strict=True))), "")


_MOST_STRETCHED = 6  # letters of a word that may each be meant once or twice
_THRICE = re.compile(r"([a-z])\1{2,}")


def _stretched(words: Collection[str]) -> dict[str, str]:
    """Words with letters three times in a row or more. All are rid of them at once, as in `_readings`."""
    text = "\n".join(words)
    once = "".join(_THRICE.split(text))
    rows = zip(words, once.split("\n"), undoubled(once).split("\n"), strict=True)
    return {said: _longer(said, short, shortest) for said, short, shortest in rows if short != said}


def _longer(said: str, short: str, shortest: str) -> str:
    """The known word that is stretched. `short` has each stretched letter once, `shortest` no letter twice in a row."""
    for word in _stretchable().get(shortest, ()):
        if word == short or _stretches(word, said):
            return _lists().said.get(word, word)
    return short


def _stretches(word: str, said: str) -> bool:
    """Whether the word is one that is said with some of its letters stretched; without repetition both are alike."""
    number = 0  # of the stretched letters before
    for meant, times in zip(_runs(word), _runs(said), strict=True):
        often = (1, 2) if number < _MOST_STRETCHED else (1,)
        if meant not in (often if times > 2 else (times,)):
            return False
        number += times > 2
    return True


def _runs(word: str) -> tuple[int, ...]:
    """How often each letter stands in a row."""
    return tuple(len(list(run)) for _, run in groupby(word))


_WHOLE = re.compile(r"(?<!\S)\S{2,60}(?!\S)")


def _mixed(odd: str) -> dict[str, str]:
    """Words of Latin letters and of others that look like them."""
    said = ((said, said.translate(_CONFUSED)) for said in set(_MIXED.findall(odd)) if not said.isascii())
    return {said: plain for said, plain in said if _latin(said, plain)}


def _latin(said: str, plain: str) -> bool:
    return re.sub(r"^\W+|\W+$", "", plain) in _lists().lexicon or any("a" <= c <= "z" for c in said)


def _apart(edits: list[Edit]) -> list[Edit]:
    """In order, and of two that overlap the longer one."""
    kept: list[Edit] = []
    for edit in sorted(edits, key=itemgetter(0)):
        if not kept or edit[0] >= kept[-1][1]:
            kept.append(edit)
        elif edit[1] - edit[0] > kept[-1][1] - kept[-1][0]:
            kept[-1] = edit
    return kept
