"""Why the model stopped and how many rounds it may take, as each provider writes it."""

from __future__ import annotations

from typing import Any

import pytest

from webapp.findings.entry_facts import CUT, finish_reason, most_rounds


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ({"choices": [{"finish_reason": "length"}]}, "length"),
        ({"response": {"stop_reason": "max_tokens"}}, "max_tokens"),
        ({"candidates": [{"finishReason": "MAX_TOKENS"}]}, "max_tokens"),
        ({"incomplete_details": {"reason": "max_output_tokens"}}, "max_output_tokens"),
    ],
)
def test_the_reason_is_found_where_providers_put_it(source: Any, expected: str) -> None:
    assert finish_reason(source) == expected and expected in CUT


@pytest.mark.parametrize("source", [None, [], "length", {"text": "length"}, {"finish_reason": 1}])
def test_where_nothing_is_said_there_is_none(source: Any) -> None:
    assert finish_reason(source) is None


def test_a_reason_that_is_nested_too_deep_is_not_looked_for() -> None:
    source: dict[str, Any] = {"finish_reason": "length"}
    for _ in range(6):
        source = {"response": source}
    assert finish_reason(source) is None


@pytest.mark.parametrize(("value", "expected"), [(3, 3), (True, None), ("3", None), (None, None)])
def test_the_limit_of_rounds_is_a_whole_number(value: Any, expected: int | None) -> None:
    assert most_rounds({"metadata": {"max_turns": value}}) == expected
