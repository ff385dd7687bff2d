"""What Fencepost itself makes of a text, which most profiles of libraries ask where they fail, is made once."""

from __future__ import annotations

import functools
from collections.abc import Iterator

import pytest

from webapp.parsing import engine, outcomes
from webapp.parsing.profiles import _about


@pytest.fixture(autouse=True, scope="package")
def own_readings() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        once = functools.cache(engine.parse)
        patch.setattr(_about, "parse", once)
        patch.setattr(outcomes, "parse", once)
        yield
