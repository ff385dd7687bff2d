"""What model servers give of a text that streams, beside what they give of it at once: all of it their own code.

The release is fed in pieces of 1 and 7 characters and with the whole as one piece. Where a client gets other calls than
without a stream, that is a finding about the server, which the profile's page states.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import pytest

from tests.parsing.profiles import _engine, test_sglang, test_vllm, test_vllm_engine
from tests.parsing.profiles._released import functions, members
from webapp.parsing import released

SIZES = ("1", "7", "whole")
Calls = list[tuple[str, str]]
Stream = Callable[[str, list[str]], Calls]
"""the calls that a client puts together of a text which comes in these pieces"""
UTILS = "vllm/tool_parsers/utils.py"


def measured(name: str, texts: list[str]) -> dict[str, dict[str, int]]:
    """For each size of pieces, how many texts come out otherwise than at once, by kinds."""
    found: dict[str, Counter[str]] = {size: Counter() for size in SIZES}
    for text in texts:
        at_once = _calls(lambda text=text: _at_once(name, text))
        for size in SIZES:
            step = len(text) or 1 if size == "whole" else int(size)
            pieces = [text[at : at + step] for at in range(0, len(text), step)]
            streamed = _calls(lambda text=text, pieces=pieces: STREAMS[name](text, pieces))
            found[size].update(filter(None, [kind(at_once, streamed)]))
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


def _at_once(name: str, text: str) -> Calls:
    if name in test_sglang.DETECTORS:
        found = test_sglang.made(name).detect_and_parse(text, []).calls
        return [(call.name, call.parameters) for call in found or ()]
    if name in test_vllm_engine.READERS:
        class_name = f"{test_vllm_engine.READERS[name]}ParserToolAdapter"
        return _engine.reader(_engine.adapters(), class_name)(text) or []
    return [(called, json.dumps(value)) for called, value in _reader(name)(text) or ()]


@cache
def _reader(name: str) -> Callable[[str], list[tuple[str, Any]] | None]:
    return test_vllm.released(*test_vllm.RELEASED[name])


def _by_engine(class_name: str) -> Stream:
    return lambda text, pieces: _engine.streamed(_engine.adapters(), class_name, pieces) or []


def _by_detector(name: str) -> Stream:
    def stream(text: str, pieces: list[str]) -> Calls:
        made = test_sglang.made(name)
        return _together(call for piece in pieces for call in made.parse_streaming_increment(piece, []).calls)

    return stream


def _together(parts: Iterator[Any]) -> Calls:
    calls: dict[int, list[str]] = {}
    for part in parts:
        call = calls.setdefault(part.tool_index, ["", ""])
        call[0] += part.name or ""
        call[1] += part.parameters or ""
    return [(name, arguments) for name, arguments in calls.values()]


def _by_reader(name: str) -> Stream:
    """One of vLLM's that its engine has not replaced."""

    def stream(text: str, pieces: list[str]) -> Calls:
        made, calls, at = test_vllm.reader(*test_vllm.RELEASED[name], **_helpers()), dict[int, list[str]](), 0
        for piece in pieces:
            before, at = text[:at], at + len(piece)
            delta = made.extract_tool_calls_streaming(before, text[:at], piece, [], [], [], None)
            for part in (delta and delta.tool_calls) or ():
                call = calls.setdefault(part.index, ["", ""])
                call[0] += part.function.name or ""
                call[1] += part.function.arguments or ""
        return [(name, arguments) for name, arguments in calls.values()]

    return stream


@cache
def _helpers() -> dict[str, Any]:
    import partial_json_parser
    from partial_json_parser.core.options import Allow

    names = ("partial_tag_overlap", "is_complete_json", "find_common_prefix", "partial_json_loads")
    used: dict[str, Any] = {"partial_json_parser": partial_json_parser, "Allow": Allow, "Any": Any}
    used |= {"JSONDecodeError": json.JSONDecodeError, "JSONDecoder": json.JSONDecoder}
    made = functions(members("vllm", test_vllm.LATEST, UTILS) / UTILS, *names, **used)
    deltas = {name: _engine.GIVEN[name] for name in ("DeltaMessage", "DeltaToolCall", "DeltaFunctionCall")}
    return dict(zip(names, made, strict=True)) | used | deltas | {"make_tool_call_id": lambda **_: "1"}


STREAMS: dict[str, Stream] = {
    **{name: _by_engine(f"{kind}ParserToolAdapter") for name, kind in test_vllm_engine.READERS.items()},
    **{name: _by_detector(name) for name in test_sglang.DETECTORS},
    **{name: _by_reader(name) for name in ("vllm-hermes", "vllm-llama3")},
}


def texts_of(name: str, most: int) -> list[str]:
    """What a model may write for this server's reader."""
    if name in test_sglang.DETECTORS:
        return test_sglang.responses(name, most)
    if name in test_vllm_engine.READERS:
        return list(test_vllm_engine.responses(name, most))
    return list(test_vllm.wrapped(most))


@pytest.mark.parametrize("name", STREAMS)
def test_a_stream_differs_as_the_page_states(name: str) -> None:
    pytest.importorskip("regex")
    stated = released.held()[name].streamed or {}
    found = measured(name, texts_of(name, 100))
    assert {size: set(kinds) - set(stated[size]) for size, kinds in found.items()} == {size: set() for size in SIZES}


def test_kinds() -> None:
    assert kind([("f", "{}")], [("f", "{ }")]) is None
    assert kind([("f", "{}")], [("f", "{")]) == "arguments that are no JSON"
    assert kind([("f", "{}")], []) == "no calls"
    assert kind([], [("f", "{}")]) == "calls where there are none at once"
    assert kind([("f", "{}")], [("g", "{}")]) == "other names"
    assert kind([("f", "1")], [("f", "2")]) == "other arguments"
