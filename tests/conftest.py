"""What holds for every test."""

from hypothesis import settings

# How long an example takes tells of the machine, not of the code.
settings.register_profile("patient", parent=settings.default, deadline=None)
settings.load_profile("patient")
