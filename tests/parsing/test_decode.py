"""Decoding as data, against `json.loads` itself: the same value, or its own words and place, however deep it is."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NoReturn

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from webapp import jsontext
from webapp.jsontext import on_any_python
from webapp.parsing import Trace, parse
from webapp.parsing.decode import DEEPEST, decode, nesting

texts = st.text(alphabet='{}[]":,.-+ \t\n\r\\\ufeff\x00\u2028abntuefINy019é', max_size=30)


@given(st.one_of(texts, st.recursive(st.none() | st.floats() | st.text(), st.lists).map(json.dumps)), st.booleans())
@example("", True)
@example(" \n", True)
@example("{} x", True)
@example("[1]]\n", True)
@example('"a\nb"', False)
@example('"a\nb"', True)
@example("\ufeff{}", True)
@example("NaN", True)
@example("9" * 5_000, True)
@example("[1, ]" + " " * 2_000, True)
def test_it_is_what_json_loads_says(text: str, strict: bool) -> None:
    decoded = decode(text, strict=strict)
    try:
        value = json.loads(text, strict=strict)
    except json.JSONDecodeError as raised:
        error, failure = on_any_python(raised), decoded.failure
        assert failure
        assert (failure.type, failure.message, failure.at) == ("JSONDecodeError", error.msg, error.pos)
        assert failure.wording == str(error)
    except ValueError as error:
        assert decoded.failure
        assert decoded.failure.wording == str(error)
    else:
        assert decoded.failure is None
        assert repr(decoded.value) == repr(value)


@given(texts)
@example("[NaN]")
@example("-Infinity")
@example('["NaN"]')
def test_without_nan_it_is_stricter_and_nothing_else(text: str) -> None:
    finite, plain = decode(text, finite=True), decode(text)
    if finite.failure is None:
        assert plain.failure is None
        assert repr(finite.value) == repr(plain.value)
    elif plain.failure is None:
        assert "NaN" in text or "Infinity" in text


def below(frames: int, raw: str) -> Trace:
    return parse(raw) if not frames else below(frames - 1, raw)


@pytest.mark.parametrize("frames", [0, 60, 300, 900])
@pytest.mark.parametrize(("depth", "verdict"), [(600, "clean"), (900, "clean"), (901, "failed"), (5_000, "failed")])
def test_the_limit_is_the_same_for_every_caller(frames: int, depth: int, verdict: str) -> None:
    assert below(frames, "[" * depth + "]" * depth).verdict == verdict


def test_the_failure_names_the_depth_and_the_innermost_bracket() -> None:
    error = parse("[" * 1_200 + "]" * 1_200).attempts[-1].error
    assert error and error.type == "RecursionError" and error.message.startswith("Nested 1,200 deep")
    assert error.at == 1_199


@pytest.mark.parametrize(("closers", "values"), [("", ()), ("]" * 6_000, ({"a": 1},))])
def test_what_the_machine_finds_nested_too_deep_is_passed_over_as_a_whole(closers: str, values: object) -> None:
    trace = parse("[１，" * 6_000 + closers + ' and {"a": 1}')
    assert trace.attempts[1].reason == "nested more than 5,000 deep, which no decoder reads"
    assert trace.values == values


@pytest.mark.parametrize("depth", [DEEPEST - 20, DEEPEST, DEEPEST + 1, DEEPEST + 50])
def test_a_long_value_in_prose_has_the_same_limit(depth: int) -> None:
    value = "[" * (depth - 1) + "]" * (depth - 1)
    trace = parse(f'Here: [{value}, "{"x" * 20_000}"] and no more')
    assert (trace.verdict == "extracted") == (depth <= DEEPEST)


def test_brackets_in_strings_do_not_count() -> None:
    assert nesting('{"a": "[[[[", "b": [[1]]}') == (3, 20)
    assert parse('["' + "[" * 2_000 + '"]').verdict == "clean"


@pytest.mark.parametrize("frames", [0, 300])
def test_brackets_that_close_in_strings_do_not_count_either(frames: int) -> None:
    value = "[" * 940 + "]" * 940
    assert below(frames, f'["{"}" * 20_000}", {value}]').verdict == "failed"


@pytest.mark.parametrize("frames", [0, 60, 300, 900])
def test_where_no_thread_can_be_had_it_fails_as_too_deep(frames: int, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: ThreadPoolExecutor, *_: Any) -> NoReturn:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(ThreadPoolExecutor, "submit", refuse)
    assert below(frames, "[" * 950 + "]" * 950).verdict == "failed"


@pytest.mark.parametrize(
    ("raw", "values"),
    [
        ('{"a": 1E400}', [{"a": {"$fencepost:float": "Infinity"}}]),
        ('["inf", -1e999]', [["inf", {"$fencepost:float": "-Infinity"}]]),
    ],
)
def test_a_number_too_large_for_a_float_is_marked_in_a_written_trace(raw: str, values: list[Any]) -> None:
    assert json.loads(jsontext.portable(parse(raw).as_dict()))["values"] == values
