"""Rules as data: a rule carries its reason and its proof, and one without them cannot be loaded.

A rules file is TOML: a `[words]` table of named fragments, used in patterns as `{{name}}`, and `[[rule]]` entries. At
its top, `words_from = ["words_en"]` borrows the fragments of words_en.toml, and `whole_words = true` sets every pattern
between ASCII word boundaries, where `$` then means the end of a sentence (leave it out for other scripts).
Patterns are the common subset of Hyperscan and RE2 (no look-around, no back-references) over text as
`textrules.normalise.fold` gives it: lower case, no apostrophes, no diacritics. In a pattern a literal space stands for
any run of blanks, commas, dashes, quotes or two and more dots between two words (write \\x20 for a real one);
`{{g1}}`…`{{g8}}` stand for the space between two words with up to that many others of the same sentence in between.

Errors: RuleError
"""

import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files as resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

from textrules.required import Literals, required, says_little

SPACE = r"(?:(?:[\s,\-\"'*_~()…]|\.\.)+)"
_LONGEST_SCANNED = 1300  # characters; Hyperscan takes seconds for a longer pattern, or refuses it
_LOOSE_SPACE = r"(?:[\W_]+)"
_ASSERTED = re.compile(r"\\.|\[\^?\]?(?:\\.|\[:\w+:\]|[^\]])*\]|[$^]")
_BEGINS = re.compile(r"(?:\(\?:)?\^(?![?*+{])")
_OTHER_WORD = r"[^\s.,!?;:\-\"()]+"
_GAPS = {f"g{n}": rf"{SPACE}(?:{_OTHER_WORD}{SPACE}){{0,{n}}}" for n in range(1, 9)}
_SENTENCE_END = r"(?:\W*$|\s*[.!?;\n)]\W*)"
_WORD_START = r"\b(?:"
_WORD_END = r"(?:\b|$)"
_FIELDS = {"id", "why", "category", "level", "language", "patterns", "unless", "matches", "ignores", "tags"}
_BLANK_IN_CLASS = re.compile(r"(?<!\\)\[\^?\]?[^\]]*? [^\]]*\]")
_ID = re.compile(r"[a-z0-9_]+\.[a-z0-9-]+(\.[a-z0-9-]+)*")


class RuleError(ValueError):
    """A rules file that must not be used: says which file, which rule, and what is wrong with it."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule with its proof. `unless` are patterns that silence it when they match inside the same clause."""

    id: str
    why: str
    category: str
    patterns: tuple[str, ...]
    matches: tuple[str, ...]
    ignores: tuple[str, ...]
    unless: tuple[str, ...] = ()
    language: str = "en"
    level: str | None = None
    tags: tuple[str, ...] = ()


def load(files: Iterable[Traversable | Path]) -> tuple[Rule, ...]:
    """All rules of the files, in order. Raises RuleError for a rule without examples, a doubled id or a bad pattern."""
    tables = [(file.name, _table(file.read_text(encoding="utf-8"), file.name)) for file in files]
    shared = {name.removesuffix(".toml"): table.get("words", {}) for name, table in tables}
    rules: list[Rule] = []
    seen: set[str] = set()
    for name, table in tables:
        for rule in _rules(table, name, shared):
            if rule.id in seen:
                raise RuleError(f"{name}: rule {rule.id}: this id is used twice; ids are never reused")
            seen.add(rule.id)
            rules.append(rule)
    return tuple(rules)


def load_folder(package: str, folder: str) -> tuple[Rule, ...]:
    """All rules of the *.toml files in a package's folder, in the order of the files' names. Raises as `load` does."""
    found = (file for file in (resources(package) / folder).iterdir() if file.name.endswith(".toml"))
    return load(sorted(found, key=lambda file: file.name))


def parse(text: str, source: str = "rules") -> tuple[Rule, ...]:
    """The rules of one TOML text that borrows no words."""
    return _rules(_table(text, source), source, {})


def _table(text: str, source: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise RuleError(f"{source}: not valid TOML: {error}") from error


def _rules(table: dict[str, Any], source: str, shared: Mapping[str, Mapping[str, str]]) -> tuple[Rule, ...]:
    raw: dict[str, str] = {}
    for name in table.get("words_from", []):
        if name not in shared:
            raise RuleError(f"{source}: words_from names {name}, and there is no {name}.toml")
        raw.update(shared[name])
    words = _expand_words({**raw, **table.get("words", {})}, source)
    whole = bool(table.get("whole_words"))
    return tuple(_rule(entry, words, source, whole) for entry in table.get("rule", []))


def needed(pattern: str, marks: Iterable[str] = ()) -> tuple[Literals, ...]:
    """What a pattern cannot do without (see textrules.required); nothing where that is not known or says too little."""
    sets = _required(pattern, marks)
    return () if len(scanned(pattern)) <= _LONGEST_SCANNED and says_little(sets, marks) else sets


def scanned(pattern: str) -> str:
    """The pattern as Hyperscan is given it: wherever the pattern matches this one does, and now and then elsewhere.

    Shorter blanks, and no beginning or end of a text inside, which Hyperscan refuses: it compiles this faster. RE2 has
    the last word. One difference is left: where RE2 reads a pattern byte by byte, one that wants two or more of *any*
    character finds them in an "é", and Hyperscan does not. `tests/test_scanned.py` holds that no shipped rule minds.
    """
    if _BEGINS.match(pattern):
        return pattern.replace(SPACE, _LOOSE_SPACE)
    loose = _ASSERTED.sub(lambda one: "(?:)" if one[0] in "^$" else one[0], pattern)
    return loose.replace(SPACE, _LOOSE_SPACE)


def _required(pattern: str, marks: Iterable[str]) -> tuple[Literals, ...]:
    if pattern.startswith(_WORD_START) and pattern.endswith(_WORD_END):
        bare = pattern.removeprefix(r"\b").removesuffix(_WORD_END).replace(SPACE, " ")
        if bare.isascii():
            return required(bare, whole=True, marks=marks)
    return required(pattern.replace(SPACE, r"\W"), whole=False, marks=marks)


def _framed(pattern: str, whole: bool) -> str:
    return f"{_WORD_START}{pattern.replace('$', _SENTENCE_END)}){_WORD_END}" if whole else pattern


def _expand_words(raw: Mapping[str, str], source: str) -> dict[str, str]:
    words = dict(_GAPS)
    for name, fragment in raw.items():
        words[name] = f"(?:{_expand(fragment, words, source)})"
    return words


def _expand(pattern: str, words: dict[str, str], where: str) -> str:
    if match := _BLANK_IN_CLASS.search(pattern):
        raise RuleError(f"{where}: a blank inside {match[0]}; a blank stands for a run of them: write \\x20 there")

    def put(match: re.Match[str]) -> str:
        if match[1] not in words:
            raise RuleError(f"{where}: unknown fragment {match[0]}; define it in [words] above its use")
        return words[match[1]]

    gapped = re.sub(r" *(\{\{g\d\}\}) *", r"\1", pattern)  # a gap brings its own blanks
    return re.sub(r"\{\{(\w+)\}\}", put, gapped.replace(" ", SPACE))


def _rule(entry: dict[str, object], words: dict[str, str], source: str, whole: bool) -> Rule:
    where = f"{source}: rule {entry.get('id', '(no id)')}"
    if unknown := set(entry) - _FIELDS:
        raise RuleError(f"{where}: unknown fields {sorted(unknown)}; a rule may have {sorted(_FIELDS)}")
    for field in ("id", "why", "category"):
        if not isinstance(entry.get(field), str) or not entry[field]:
            raise RuleError(f"{where}: {field} is missing")
    for field in ("patterns", "matches", "ignores"):
        if not _strings(entry.get(field)):
            raise RuleError(f"{where}: {field} is empty; a rule without its proof cannot be used")
    if not _ID.fullmatch(str(entry["id"])):
        raise RuleError(f"{where}: an id is written topic.kebab-name")
    level = entry.get("level")
    return Rule(
        id=str(entry["id"]),
        why=str(entry["why"]),
        category=str(entry["category"]),
        patterns=tuple(_framed(_expand(p, words, where), whole) for p in _strings(entry["patterns"])),
        unless=tuple(_framed(_expand(p, words, where), whole) for p in _strings(entry.get("unless"))),
        matches=tuple(_strings(entry["matches"])),
        ignores=tuple(_strings(entry["ignores"])),
        language=str(entry.get("language", "en")),
        level=str(level) if level is not None else None,
        tags=tuple(_strings(entry.get("tags"))),
    )


def _strings(value: object) -> Sequence[str]:
    if not isinstance(value, list) or not all(isinstance(item, str) and item for item in value):
        return ()
    return value
