"""When a model has said enough: then its stream is closed at once, and what it would still write is never generated."""

import re
from dataclasses import dataclass, field

from serving.conversation import Channel

# care.md section 2: a chat reply has up to 60 words before our completion; an SMS about 300 characters in all.
_WORDS = {"chat": 70, "sms": 30}
_WORDS_NO_CRISIS = {"chat": 260, "sms": 45}
_LEAST_SENTENCES = 2
_QUESTION = re.compile(r"[?？؟]\W*$")


@dataclass(slots=True)
class Length:
    """Counts what was said. In a crisis a reply is also complete with its one open question (SOUL.md section 2), since
    a second one, or advice after it, would only be more to answer."""

    channel: Channel
    crisis: bool
    words: int = field(default=0, init=False)
    sentences: int = field(default=0, init=False)

    def complete(self, text: str, *, generated: bool) -> bool:
        """Whether the reply is complete with this sentence. Our own words are only counted."""
        self.words += len(text.split())
        self.sentences += 1
        if self.words >= (_WORDS if self.crisis else _WORDS_NO_CRISIS)[self.channel]:
            return True
        asked = bool(_QUESTION.search(text))
        return generated and self.crisis and asked and self.sentences >= _LEAST_SENTENCES
