"""What Fencepost itself makes of a text, which most profiles of libraries ask where they fail, is made once."""

from __future__ import annotations

import functools
from collections.abc import Iterator

import pytest

from webapp.parsing.engine import Tracer, parse


@pytest.fixture(autouse=True, scope="module")
def own_readings() -> Iterator[None]:
    once = functools.cache(parse)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Tracer, "own_reading", lambda tracer: once(tracer.raw))
        yield
