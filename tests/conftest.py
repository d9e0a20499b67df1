"""What holds for every test."""

import logging
from collections.abc import Iterator

import pytest
from hypothesis import settings

# How long an example takes tells of the machine, not of the code.
settings.register_profile("patient", parent=settings.default, deadline=None)
settings.load_profile("patient")


@pytest.fixture(autouse=True)
def root_logger() -> Iterator[None]:
    """The root logger is left as it was: `crisis serve`, run in this process, sets its level and its handlers."""
    logger = logging.getLogger()
    handlers, level, raising = logger.handlers[:], logger.level, logging.raiseExceptions
    yield
    logger.handlers[:], logging.raiseExceptions = handlers, raising
    logger.setLevel(level)
