"""No text takes the service's patterns long: each regular expression of ours, on texts made to make it despair.

The rules of SHIELD and of the filter run on linear-time engines (ADR 0002). Here are the others, those of Python's
`re`, used as our code uses them, in a process that is ended when one of them does not end.
"""

import json
import subprocess
import sys
from typing import Any

import pytest

SEARCH = r"""
import collections, importlib, json, pathlib, pkgutil, re, time

ROOMS = ("textrules", "shield", "safety_filter", "prompts", "serving")
SHORT, LONG = 2_000, 16_000  # characters; the longest message that is read whole
# Eight times the text takes eight times as long in linear time and sixty-four times in quadratic time. What takes less
# than NOTICED_S is not looked at: of so little nothing can be told on a machine that others use.
NOTICED_S, GROWTH, FAR_TOO_LONG_S = 0.04, 24, 2.0
TRUSTED = ("textrules.rules.",)  # reads rule files, never a person's text
EXTRAS = ("torch", "transformers", "bitsandbytes", "llama_cpp")  # may be absent (CI_FAST); those engines then are too
METHODS = ("match", "fullmatch", "search", "sub", "subn", "finditer", "findall", "split")


def patterns():
    for room in ROOMS:
        home = importlib.import_module(room).__path__
        source = "\n".join(path.read_text(encoding="utf-8") for path in pathlib.Path(home[0]).rglob("*.py"))
        for found in pkgutil.walk_packages(home, f"{room}."):
            if found.name.rsplit(".", 1)[-1] == "worker":
                continue  # a program of its own
            try:
                module = importlib.import_module(found.name)
            except ModuleNotFoundError as missing:
                if missing.name.partition(".")[0] in EXTRAS:
                    continue
                raise
            if found.name + "." in TRUSTED:
                continue
            for name, value in vars(module).items():
                for one in flat(value):
                    used = set(re.findall(rf"\b{re.escape(name)}\.({'|'.join(METHODS)})\b", source)) or {"search"}
                    yield f"{found.name}.{name}", one, used


def flat(value, depth=2):
    if isinstance(value, re.Pattern):
        yield value
    elif isinstance(value, (tuple, list, set, frozenset)) and depth:
        for inner in value:
            yield from flat(inner, depth - 1)
    elif isinstance(value, dict) and depth:
        for inner in value.values():
            yield from flat(inner, depth - 1)


def hostile(pattern, length):
    letters = sorted(set(pattern) | set(" a0.-(\n'@:"))[:30]
    words = re.findall(r"[A-Za-z]{2,}", pattern)[:6]
    yield from (letter * length + "\x00" for letter in letters)
    yield from ((f"{word} " * length)[:length] for word in words)
    yield from ((pair * length)[:length] + "\x00" for pair in ("a ", "1-", ". ", "a.", "A1", " \n", "http://", "a@"))


def took(one, used, text):
    began = time.process_time()
    for method in used:
        run = getattr(one, method)
        found = run("", text) if method.startswith("sub") else run(text)
        if method == "finditer":
            collections.deque(found, 0)
    return time.process_time() - began


def despairs(one, used, short, long):  # the seconds that the long text takes, where they grow faster than it; else 0
    if (seconds := took(one, used, short)) > FAR_TOO_LONG_S:
        return seconds
    if took(one, used, long) < NOTICED_S:
        return 0
    few, many = (min(took(one, used, text) for _ in range(5)) for text in (short, long))
    return many if many > max(NOTICED_S, GROWTH * few) else 0


seen, slow = set(), []
for name, one, used in patterns():
    if one in seen or isinstance(one.pattern, bytes):
        continue
    seen.add(one)
    for short, long in zip(hostile(one.pattern, SHORT), hostile(one.pattern, LONG), strict=True):
        if seconds := despairs(one, used, short, long):
            slow.append([name, sorted(used), one.pattern[:80], long[:20], round(seconds, 2)])
            break
print(json.dumps({"patterns": len(seen), "slow": slow}))
"""


@pytest.mark.timeout(320)
def test_every_pattern_of_ours_ends_soon_whatever_the_text():
    ran = subprocess.run([sys.executable, "-c", SEARCH], capture_output=True, text=True, timeout=300)
    assert ran.returncode == 0, ran.stderr[-2000:]
    found: dict[str, Any] = json.loads(ran.stdout)
    assert found["patterns"] > 50, "the patterns were found"
    assert found["slow"] == []
