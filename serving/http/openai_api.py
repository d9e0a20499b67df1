"""The OpenAI-compatible face: any chat client gains the whole path by a base URL.

An agent's system and tool messages are read past: this service's protocol is nobody else's to write. The contract's
`done` object rides along as `crisis`; token counts are those of the model that answered.
"""

import secrets
import time
from contextlib import aclosing
from typing import Any

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError
from starlette.types import Receive, Scope, Send

from serving.http.body import parse
from serving.http.encoding import encode, sse_data
from serving.http.front import Front
from serving.http.hangup import HangUp
from serving.http.schemas import MAX_MESSAGES, Asked, ChannelName, Identifier, RequestBody, Text, ask, require_words
from serving.http.sending import send_bytes
from serving.http.visit import Visit, visit_of
from shield.assessment import Turn

MODEL = "crisis-support"
_CHARACTERS_A_TOKEN = 4
_DONE = b"data: [DONE]\n\n"


class Part(RequestBody):
    type: str = ""
    text: Text | None = None


class ChatMessage(RequestBody):
    role: str
    content: Text | list[Part] | None = None

    def words(self) -> str:
        if isinstance(self.content, str):
            return self.content
        return "\n".join(part.text for part in self.content or () if part.text is not None)


class StreamOptions(RequestBody):
    include_usage: bool = False


class ChatBody(RequestBody):
    """A chat completion. `country`, `language`, `channel`, `conversation_id` are ours; sampling options are ignored."""

    messages: list[ChatMessage] = Field(min_length=1, max_length=MAX_MESSAGES)
    stream: bool | None = False
    stream_options: StreamOptions | None = None
    country: str | None = None
    language: str | None = None
    channel: ChannelName = "chat"
    conversation_id: Identifier | None = None

    @model_validator(mode="after")
    def _ends_with_the_person(self) -> "ChatBody":
        turns = self.turns()
        if not turns:
            raise PydanticCustomError("no_message", "messages: one of role 'user' is needed")
        require_words(turns[-1].role, turns[-1].text)
        return self

    def turns(self) -> tuple[Turn, ...]:
        """What the person and the assistant said; other roles, and turns that only call tools, are dropped."""
        said: list[Turn] = []
        for message in self.messages:
            if message.role == "user":
                said.append(Turn("user", message.words()))
            elif message.role == "assistant" and message.words().strip():
                said.append(Turn("assistant", message.words()))
        return tuple(said)

    def asked(self) -> Asked:
        return ask(
            self.turns(),
            country=self.country,
            language=self.language,
            channel=self.channel,
            conversation_id=self.conversation_id,
        )


class ChatCompletions:
    """POST /v1/chat/completions"""

    def __init__(self, front: Front) -> None:
        self._front = front

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        body = parse(ChatBody, await self._front.json_body(scope, receive))
        async with self._front.caller(receive) as caller:
            if body.stream:
                await self._stream(body, visit_of(scope), send, caller)
            else:
                asked = body.asked()
                done = await self._front.done(asked, visit_of(scope), caller)
                await send_bytes(send, encode(completion(asked, done)))

    async def _stream(self, body: ChatBody, visit: Visit, send: Send, caller: HangUp) -> None:
        asked = body.asked()
        chunks = Chunks(asked, usage=bool(body.stream_options and body.stream_options.include_usage))
        async with self._front.events(send) as stream:
            async with aclosing(self._front.answer(asked, visit, caller)) as frames:
                async for frame in frames:
                    for chunk in chunks.of(frame.name, frame.data):
                        await stream.send(sse_data(chunk))
            await stream.send(_DONE)


class Models:
    """GET /v1/models: one, whoever answers behind it."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        model = {"id": MODEL, "object": "model", "created": 0, "owned_by": MODEL}
        await send_bytes(send, encode({"object": "list", "data": [model]}))


class Chunks:
    """Frames as `chat.completion.chunk` objects. The first has the assessment and the resources: help before words."""

    def __init__(self, asked: Asked, *, usage: bool) -> None:
        self._asked = asked
        self._usage = usage
        self._head = {"id": _new_id(), "object": "chat.completion.chunk", "created": int(time.time()), "model": MODEL}
        self._early: dict[str, Any] = {}

    def of(self, name: str, data: dict[str, Any]) -> list[dict[str, Any]]:
        if name == "assessment":
            self._early["assessment"] = data
            return []
        if name == "resources":
            self._early["resources"] = data["resources"]
            return [self._chunk({"role": "assistant", "content": ""}, crisis=self._early)]
        if name == "sentence":
            return [self._chunk({"content": data["text"]})]
        last = [self._chunk({}, finish="stop", crisis=data)]
        if self._usage:
            last.append({**self._head, "choices": [], "usage": usage(self._asked, data)})
        return last

    def _chunk(
        self, delta: dict[str, Any], *, finish: str | None = None, crisis: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        chunk = {**self._head, "choices": [{"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}]}
        if self._usage:
            chunk["usage"] = None
        return chunk if crisis is None else {**chunk, "crisis": crisis}


def completion(asked: Asked, done: dict[str, Any]) -> dict[str, Any]:
    """The whole answer as a `chat.completion`."""
    message = {"role": "assistant", "content": done["reply"], "refusal": None}
    return {
        "id": _new_id(),
        "object": "chat.completion",
        "created": int(time.time()),
        "model": MODEL,
        "choices": [{"index": 0, "message": message, "logprobs": None, "finish_reason": "stop"}],
        "usage": usage(asked, done),
        "crisis": done,
    }


def usage(asked: Asked, done: dict[str, Any]) -> dict[str, int]:
    """What the model that answered read and wrote. Where none did, an estimate: clients that add up expect numbers."""
    prompt, said = done["usage"]["prompt_tokens"], done["usage"]["completion_tokens"]
    if not prompt:
        prompt = _tokens(sum(len(turn.text) for turn in asked.conversation.turns))
        said = _tokens(len(done["reply"]))
    return {"prompt_tokens": prompt, "completion_tokens": said, "total_tokens": prompt + said}


def _tokens(characters: int) -> int:
    return max(1, -(-characters // _CHARACTERS_A_TOKEN))


def _new_id() -> str:
    return f"chatcmpl-{secrets.token_hex(12)}"
