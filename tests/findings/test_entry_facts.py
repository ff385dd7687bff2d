"""How many rounds an entry may take."""

from __future__ import annotations

from typing import Any

import pytest

from webapp.findings.entry_facts import most_rounds


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        *(({"metadata": {"max_turns": value}}, found) for value, found in ((3, 3), (True, None), ("3", None))),
        *((source, None) for source in (None, [], {}, {"metadata": 3})),
    ],
)
def test_the_limit_of_rounds_is_a_whole_number(source: Any, expected: int | None) -> None:
    assert most_rounds(source) == expected
