"""A backend around another one: it is called what that one is called, and says what it says in a way of its own."""

from dataclasses import dataclass

from serving.backend import Backend


@dataclass
class Wrapped:
    """Name, model and source of the inner backend; who inherits from it adds stream()."""

    inner: Backend

    @property
    def name(self) -> str:
        return self.inner.name

    @property
    def model(self) -> str:
        return self.inner.model

    @property
    def source(self) -> str:
        return self.inner.source
