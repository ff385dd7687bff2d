"""What model servers give of a text that streams, beside what they give of it at once: all of it their own code.

The release is fed in pieces of 1 and 7 characters, a model's special tokens whole, and with all as one piece. Where a
client gets other calls than without a stream, that is a finding about the server, which the profile's page states.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from tests.parsing.profiles._compiled import calls_of
from tests.parsing.profiles._servers import READERS, Calls, at_once, responses, streamed
from tests.parsing.profiles.test_released import release_of
from webapp.parsing.released import held_releases

SIZES = ("1", "7", "whole")
pytestmark = pytest.mark.timeout(600)  # a parser is compiled, which takes minutes on a busy machine


def measured(name: str, texts: list[str]) -> dict[str, dict[str, int]]:
    """For each size of pieces, how many texts come out otherwise than at once, by kinds."""
    found: dict[str, Counter[str]] = {size: Counter() for size in SIZES}
    for text in texts:
        whole = _calls(lambda text=text: at_once(name, text) or [])
        for size in SIZES:
            most = len(text) or 1 if size == "whole" else int(size)
            found_in_pieces = _calls(lambda text=text, most=most: streamed(name, text, most))
            found[size].update(filter(None, [kind(whole, found_in_pieces)]))
    return {size: dict(sorted(kinds.items())) for size, kinds in found.items()}


def kind(at_once: Calls | None, streamed: Calls | None) -> str | None:
    """How the calls of a stream differ; None where they do not. None instead of calls is an error."""
    if at_once is None or streamed is None:
        return None if at_once is streamed else "an error in one of both alone"
    if len(at_once) != len(streamed):
        return "no calls" if not streamed else "calls where there are none at once" if not at_once else "other calls"
    if [name for name, _ in at_once] != [name for name, _ in streamed]:
        return "other names"
    values = [(_value(one), _value(other)) for (_, one), (_, other) in zip(at_once, streamed, strict=True)]
    if any(other is None and one is not None for one, other in values):
        return "arguments that are no JSON"
    return None if all(one == other for one, other in values) else "other arguments"


def _value(arguments: str) -> Any:
    """Wrapped, so that null is something too."""
    try:
        return [json.loads(arguments)]
    except ValueError:
        return None


def _calls(read: Callable[[], Calls]) -> Calls | None:
    try:
        calls = read()
        "".join(f"{name}{arguments}" for name, arguments in calls).encode()
    except (ValueError, TypeError, AttributeError, RecursionError):
        return None
    return calls


STREAMS = [name for name in READERS if name not in ("vllm-deepseek-v31", "vllm-mistral")]
"""those that are also read as they stream: of vLLM's, what its engine has, and two that it has not replaced"""


@pytest.mark.parametrize("name", STREAMS)
def test_a_stream_differs_as_the_page_states(name: str) -> None:
    pytest.importorskip("regex")
    stated = held_releases()[name].streamed or {}
    found = measured(name, responses(name, 50))
    assert {size: set(kinds) - set(stated[size]) for size, kinds in found.items()} == {size: set() for size in SIZES}


def test_llama_cpp_gives_the_calls_of_a_stream_before_it_refuses_it() -> None:
    name, call = "llama-cpp-qwen3", '<tool_call>\n{"name": "f", "arguments": {"a": 1}}\n</tool_call>'
    text = f"{call}\nDone."
    given = [[("f", '{"a": 1}')]]
    assert calls_of(name, *release_of(name), [call, text, list(text), [text]]) == [*given, None, *given, None]


def test_kinds() -> None:
    assert kind([("f", "{}")], [("f", "{ }")]) is None
    assert kind([("f", "{}")], [("f", "{")]) == "arguments that are no JSON"
    assert kind([("f", "{}")], []) == "no calls"
    assert kind([], [("f", "{}")]) == "calls where there are none at once"
    assert kind([("f", "{}")], [("g", "{}")]) == "other names"
    assert kind([("f", "1")], [("f", "2")]) == "other arguments"
