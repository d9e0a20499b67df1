"""The answer when everything else has failed: constants that need no file, no rule, no model and no luck.

The United States' lines are the client's minimum; a person elsewhere is told of a local number and the directory.
"""

from collections.abc import Sequence
from typing import Any


def _line(line_id: str, name: str, kind: str, **known: Any) -> dict[str, Any]:
    blank: dict[str, Any] = {"phone": None, "sms": None, "url": None, "hours": None, "languages": [], "country": None}
    return {"id": line_id, "name": name, **blank, "verified_at": None, "kind": kind, "sms_body": None, **known}


def resources() -> list[dict[str, Any]]:
    """The lines that are shown when even the helplines table can't be read."""
    us: dict[str, Any] = {"country": "US", "hours": "24/7"}
    spoken = ["en", "es"]
    return [
        _line("us-988", "988 Suicide & Crisis Lifeline", "crisis_line", phone="988", sms="988", languages=spoken, **us),
        _line("us-ctl", "Crisis Text Line", "text_line", sms="741741", sms_body="HOME", languages=spoken, **us),
        _line("us-emergency", "Emergency services", "emergency", phone="911", **us),
        _line("directory", "Find A Helpline: lines in your country", "directory", url="https://findahelpline.com"),
    ]


# Complete by itself and after any sentence that was shown before: it stays, says what it is, and names help.
_TEXT = {
    "en": (
        "I want to keep listening, but something on my side just broke. That is not about you. "
        "I'm an AI, and I can't call anyone for you or see where you are. {lines} "
        "If you are in danger or already hurt, please call {emergency} now. "
        "You can keep writing to me here."
    ),
    "es": (
        "Quiero seguir escuchándote, pero algo acaba de fallar de mi lado. No es por ti. "
        "Soy una IA y no puedo llamar a nadie por ti ni ver dónde estás. {lines} "
        "Si estás en peligro o ya te hiciste daño, llama ahora {emergency}. "
        "Puedes seguir escribiéndome aquí."
    ),
}
# In danger of minutes (the lines then begin with the emergency number) that call stands before everything else.
_URGENT = {
    "en": (
        "Please call {emergency} now; that comes before anything else. "
        "Something on my side just broke, and that is not about you. "
        "I'm an AI, and I can't call anyone for you or see where you are. {lines} You can keep writing to me here."
    ),
    "es": (
        "Por favor, llama ahora {emergency}; eso va antes que todo lo demás. "
        "Algo acaba de fallar de mi lado, y no es por ti. "
        "Soy una IA y no puedo llamar a nadie por ti ni ver dónde estás. {lines} Puedes seguir escribiéndome aquí."
    ),
}
_WORDS = {
    "en": {
        "call": "You can call {name} at {phone}.",
        "text": "You can text {name} at {sms}.",
        "word": "You can text {sms_body} to {sms} ({name}).",
        "both": "You can call or text {name} at {phone}.",
        "site": "You can find a line near you at {url}.",
        "number": "{phone}",
        "local": "your local emergency number",
    },
    "es": {
        "call": "Puedes llamar a {name} al {phone}.",
        "text": "Puedes escribir un mensaje a {name} al {sms}.",
        "word": "Puedes enviar {sms_body} por mensaje al {sms} ({name}).",
        "both": "Puedes llamar o escribir a {name} al {phone}.",
        "site": "Puedes encontrar una línea cercana en {url}.",
        "number": "al {phone}",
        "local": "a tu número local de emergencias",
    },
}  # fmt: skip
_MOST_LINES = 3


def text(lines: Sequence[dict[str, Any]], *, language: str | None) -> str:
    """The last-resort reply that names the given resources (dicts as `Resources.to_json` makes them)."""
    spoken = "es" if language == "es" else "en"
    words = _WORDS[spoken]
    emergency = next((line for line in lines if is_emergency(line) and line.get("phone")), None)
    said = [_sentence(line, words) for line in lines if not is_emergency(line)]
    phrase = words["number"].format(phone=emergency["phone"]) if emergency else words["local"]
    whole = _URGENT if lines and is_emergency(lines[0]) else _TEXT
    return whole[spoken].format(lines=" ".join([s for s in said if s][:_MOST_LINES]), emergency=phrase)


def is_emergency(line: dict[str, Any]) -> bool:
    """Whether a resource is the emergency number and not a helpline."""
    return line.get("kind") == "emergency"


def _sentence(line: dict[str, Any], words: dict[str, str]) -> str:
    phone, sms, url = line.get("phone"), line.get("sms"), line.get("url")
    if phone and phone == sms:
        return words["both"].format(**line)
    if phone:
        return words["call"].format(**line)
    if sms:
        return words["word" if line.get("sms_body") else "text"].format(**line)
    return words["site"].format(**line) if url else ""
