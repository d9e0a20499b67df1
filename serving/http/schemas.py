"""What callers send, as pydantic models: every field bounded, unknown ones ignored, no input in an error."""

import re
import secrets
from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints, model_validator
from pydantic_core import PydanticCustomError

from serving.conversation import Channel, Conversation, Passage, before, bounded
from serving.respond import MAX_FILTERED
from shield.assessment import Turn

MAX_CONTENT = 32_000
MAX_MESSAGES = 1_000
MAX_PASSAGES = 32
MAX_PASSAGE = 4_000
MAX_CONTEXT = 8_000

_LANGUAGE = re.compile(r"([A-Za-z]{2,3})(?:[-_].*)?", re.DOTALL)

Item = TypeVar("Item")


def _channel(sent: Any) -> Any:
    """Any other name is a chat: agents know channels that we don't, and none of them may cost a person an answer."""
    if sent is None or isinstance(sent, str):
        return "sms" if (sent or "").strip().lower() == "sms" else "chat"
    return sent


def _listed(sent: Any) -> Any:
    return [] if sent is None else sent


Text = Annotated[str, StringConstraints(max_length=MAX_CONTENT)]
Identifier = Annotated[str, StringConstraints(max_length=128)]
ChannelName = Annotated[
    Channel,
    BeforeValidator(_channel, json_schema_input_type=str | None),
    Field(description="'sms' for shorter replies; anything else, or nothing, is a chat"),
]
OrNone = Annotated[list[Item], BeforeValidator(_listed, json_schema_input_type=list[Item] | None)]
"""A list that may also be sent as null: clients that write out every field do."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A conversation, and how many of its oldest turns were left out: findings count turns as the caller sent them."""

    conversation: Conversation
    dropped: int = 0


class RequestBody(BaseModel):
    """Ignores what it does not know, and quotes nothing in its errors."""

    model_config = ConfigDict(extra="ignore", hide_input_in_errors=True)


class MessageBody(RequestBody):
    role: Literal["user", "assistant"]
    content: Text


class PassageBody(RequestBody):
    id: Identifier
    text: str


class RespondBody(RequestBody):
    """`messages`, oldest first, or `message` for a single one; with both, `message` is the newest turn."""

    messages: OrNone[MessageBody] = Field(default=[], max_length=MAX_MESSAGES)
    message: Text | None = None
    country: str | None = Field(default=None, description="ISO 3166 code; an unknown one is no error")
    language: str | None = Field(default=None, description="a language tag such as en or es-MX")
    channel: ChannelName = "chat"
    conversation_id: Identifier | None = None
    context: OrNone[PassageBody] = Field(
        default=[],
        description=f"up to {MAX_PASSAGES}, {MAX_CONTEXT:,} characters in all; a model gets the first 8, 600 of each",
    )
    stream: bool | None = False

    @model_validator(mode="after")
    def _ends_with_the_person(self) -> "RespondBody":
        if self.message is None and not self.messages:
            raise PydanticCustomError("no_message", "messages: send at least one, or the short form 'message'")
        role, text = ("user", self.message) if self.message is not None else _last(self.messages)
        require_words(role, text)
        return self

    def asked(self) -> Asked:
        turns = tuple(Turn(m.role, m.content) for m in self.messages)
        if self.message is not None:
            turns = (*turns, Turn("user", self.message))
        return ask(
            turns,
            country=self.country,
            language=self.language,
            channel=self.channel,
            conversation_id=self.conversation_id,
            context=_passages(self.context),
        )


class AssessBody(RequestBody):
    """`text` for one message, or `messages` for a conversation."""

    text: Text | None = None
    messages: list[MessageBody] | None = Field(default=None, max_length=MAX_MESSAGES)
    country: str | None = None
    language: str | None = None

    @model_validator(mode="after")
    def _one_of_both(self) -> "AssessBody":
        if (self.text is None) == (not self.messages):
            raise PydanticCustomError("text_or_messages", "send either 'text' or 'messages'")
        return self

    def turns(self) -> tuple[Turn, ...]:
        if self.text is not None:
            return (Turn("user", self.text),)
        return tuple(Turn(m.role, m.content) for m in self.messages or ())


class FilterBody(RequestBody):
    """`reply` is the text to check; `user` what the person wrote before it."""

    reply: Text = Field(description=f"more than {MAX_FILTERED:,} characters are no reply to a person: blocked")
    user: Text = ""
    country: str | None = None
    language: str | None = None


def ask(
    turns: tuple[Turn, ...],
    *,
    country: str | None,
    language: str | None,
    channel: Channel,
    conversation_id: str | None,
    context: tuple[Passage, ...] = (),
) -> Asked:
    """The conversation that is answered: within the limits, with an id, and with tidy codes."""
    kept = bounded(turns)
    conversation = Conversation(
        turns=kept,
        country=country_code(country),
        language=primary_language(language),
        channel=channel,
        id=conversation_id or secrets.token_hex(16),
        context=context,
        earlier=before(turns, kept),
    )
    return Asked(conversation, dropped=len(turns) - len(kept))


def require_words(role: str, text: str) -> None:
    """Raises unless the newest message is the person's and holds something."""
    if role != "user":
        raise PydanticCustomError("last_role", "messages: the last one must be the user's")
    if not text.strip():
        raise PydanticCustomError("empty_message", "the last message is empty: send what the person wrote")


def country_code(country: str | None) -> str | None:
    """The country as sent, trimmed and bounded. Which codes exist is for the helplines to know."""
    return (country or "").strip()[:64] or None


def primary_language(tag: str | None) -> str | None:
    """`en` of `en-US`; None for what is no language tag."""
    match = _LANGUAGE.fullmatch((tag or "").strip()[:35])
    return match.group(1).lower() if match else None


def _last(messages: list[MessageBody]) -> tuple[str, str]:
    return messages[-1].role, messages[-1].content


def _passages(sent: list[PassageBody]) -> tuple[Passage, ...]:
    """The passages that fit, in their order: context is help, so that too much of it is left out and not refused."""
    kept, room = [], MAX_CONTEXT
    for passage in sent[:MAX_PASSAGES]:
        text = passage.text[:MAX_PASSAGE]
        if len(text) <= room:
            kept.append(Passage(passage.id, text))
            room -= len(text)
    return tuple(kept)
