"""Words requests for a model that is in another process: the template is here, the tokeniser there.

The builder (serving/worker/prompt.py) asks for tokens one text at a time; what it lacks is fetched in one request for
plain texts and one for the template's own, and it builds again. What the template and the protocol say is remembered;
what people say is not.
"""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import TypeVar

from serving.backend import BackendMisconfigured, BackendRefused
from serving.worker.prompt import Prompt, PromptBuilder, PromptTooLong
from serving.worker.protocol import Job
from serving.worker.template import ChatTemplate, TemplateRejected

_T = TypeVar("_T")
_Text = tuple[str, bool]
_ROUNDS = 8
_MOST_REMEMBERED = 64
FetchTokens = Callable[[Sequence[str], bool], Awaitable[list[list[int]]]]
"""The tokens of texts; the flag says whether names of control tokens count as such."""


class RemotePrompts:
    """Builds prompts of at most `context` tokens. `who` is the engine's name in errors."""

    def __init__(self, template: ChatTemplate, fetch: FetchTokens, *, bos: int | None, context: int, who: str) -> None:
        self._template = template
        self._fetch = fetch
        self._bos = bos
        self._context = context
        self._who = who
        self._lasting: dict[_Text, list[int]] = {}

    async def build(self, job: Job) -> Prompt:
        """Raises BackendRefused for what does not fit or what the template does not take, before anything is sent."""
        protocol = (job.system[: job.prefix_chars], False)
        return await self._until_known(lambda builder: builder.build(job), keep=protocol)

    async def prefix(self, text: str, rest: str = "") -> list[int]:
        """The tokens with which every prompt begins whose system text begins with `text`, and goes on with `rest`."""
        return await self._until_known(lambda builder: builder.prefix(text, rest), keep=(text, False))

    async def _until_known(self, make: Callable[[PromptBuilder], _T], *, keep: _Text) -> _T:
        known = dict(self._lasting)
        for _ in range(_ROUNDS):
            missing: dict[_Text, None] = {}
            made = self._attempt(make, known, missing)
            if not missing and made is not None:
                return made
            await self._learn(missing, known, keep)
        raise BackendMisconfigured(f"{self._who}: the model's chat template renders the same conversation differently")

    def _attempt(
        self, make: Callable[[PromptBuilder], _T], known: dict[_Text, list[int]], missing: dict[_Text, None]
    ) -> _T | None:
        """What was made, or nothing where texts are missing: then what the builder says of lengths means nothing."""

        def tokenise(text: str, control: bool) -> list[int]:
            if (text, control) not in known:
                missing[text, control] = None
            return known.get((text, control), [])

        builder = PromptBuilder(self._template, tokenise, bos=self._bos, context=self._context)
        try:
            return make(builder)
        except PromptTooLong:
            if missing:
                return None
            raise BackendRefused(f"{self._who}: the conversation does not fit the model's context") from None
        except TemplateRejected:
            raise BackendRefused(f"{self._who}: the model's chat template does not take this conversation") from None

    async def _learn(self, missing: Iterable[_Text], known: dict[_Text, list[int]], keep: _Text) -> None:
        for control in (False, True):
            texts = [text for text, is_control in missing if is_control is control]
            if not texts:
                continue
            for text, tokens in zip(texts, await self._fetch(texts, control), strict=True):
                known[text, control] = tokens
                if (control or (text, control) == keep) and len(self._lasting) < _MOST_REMEMBERED:
                    self._lasting[text, control] = tokens
