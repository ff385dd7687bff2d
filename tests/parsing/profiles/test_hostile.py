"""No profile raises on any text or takes more than linear time on texts made to blow up its original."""

from __future__ import annotations

import itertools
from functools import partial

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.pace import ends_within, is_linear
from webapp.parsing import parse, profiles
from webapp.parsing.edit import apply
from webapp.parsing.profiles import json_repair

LONG = 1_400
QUICK = 0.2  # seconds of processor time; unloaded, the slowest takes 0.1, and what is quadratic takes 0.3
NAMES = [name for name in profiles() if name != "fencepost"]  # which its own tests hold to more than this
BRICKS = {
    "openers": "{",
    "arrays": "[",
    "open keys": '{"a":',
    "quotes": '"',
    "backslashes": "\\",
    "closers": "}",
    "fences": "```json\n",
    "fence and brace": "```json{",
    "fenced nothing": "```json{}x",
    "fenced calls": '```json{"tool":1}```',
    "fenced failures": "```json{x}\n```",
    "python fences": "```python",
    "ticks": "`",
    "open strings": '{"a": "b, x',
    "inner quotes": '{"a": "b "c" d"}',
    "thoughts": "<think>{",
    "placeholders": "Take {price} and ",
    "alternating": "{[",
    "empty objects": "{}",
    "nested pairs": "{{}",
    "three levels": "```json{{{}}}",
    "spaces": " ",
    "line feeds": "\n",
    "control characters": '"\n',
    "surrogates": "\ud800{",
    "nuls": "\x00{}",
    "grepped": "truth: 1.1.1 falsehood::: ",
    "digits": "1",
    "constants": "NaN ",
}
STARTS = {"": "", "an opened fence": "```json{", "a key": '{"a": "'}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("start", STARTS)
def test_long_texts_take_linear_time(name: str, start: str) -> None:
    for what, brick in BRICKS.items():
        short, long = (STARTS[start] + brick * (size // len(brick)) for size in (LONG // 4, LONG))
        assert is_linear(partial(parse, short, name), partial(parse, long, name), 4, quick=QUICK), what


@pytest.mark.parametrize("what", ["quotes", "fences", "arrays", "openers"])
def test_the_library_is_stopped_in_time(what: str) -> None:
    """Behind the beginning that slows it most."""
    assert ends_within(2.0, lambda: is_stopped("{" * 99 + BRICKS[what] * 20_000, 20_000))


def test_a_long_text_has_no_more_time_than_any_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """By what takes it longest, one string that holds quotes; each look at the clock is a second later."""
    clock = itertools.count()
    monkeypatch.setattr(json_repair, "SECONDS", 5.0)
    monkeypatch.setattr(json_repair, "thread_time", lambda: next(clock))
    is_stopped('{"code": "' + "x = 'y'\n" * 100_000, 800_000)
    assert next(clock) == 7


def is_stopped(text: str, length: int) -> None:
    assert parse(text[:length], "json-repair").exhausted


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("gap", [" ", "\n", "\u3000"])
def test_a_fence_and_many_spaces(name: str, gap: str) -> None:
    """Report 003's pattern took 35 s on 4,000 of them."""

    def read(size: int) -> None:
        parse("```json" + gap * size, name)
        parse("```json" + gap * size + "{" + gap * size + "x``` " + gap * size, name)

    assert is_linear(partial(read, LONG // 4), partial(read, LONG), 4, quick=QUICK)


def test_fences_that_open_and_nothing_closes() -> None:
    def read(size: int) -> None:
        parse("```\n{" * size, "pydantic-ai")

    assert is_linear(partial(read, 1_000), partial(read, 8_000), 8)


@pytest.mark.parametrize("name", NAMES)
def test_deep_nesting_is_a_failure_at_most(name: str) -> None:
    """Just within what Python's decoder takes, and far beyond it."""
    objects = '{"a":' * 990 + "1" + "}" * 990
    for raw in ("[" * 990 + "]" * 990, objects, f"```json\n{objects}\n```"):
        parse(raw, name)
    for raw in ("[" * 10_000 + "]" * 10_000, '{"a":' * 5_000 + "1" + "}" * 5_000):
        parse(raw, name)


@settings(max_examples=150, deadline=None)
@given(
    st.text(st.characters(categories=None), max_size=60)
    | st.text(st.sampled_from('{}[]"\\:,`\n j\ud800\x00'), max_size=60)
)
@example("²")  # a digit, and of no number
def test_any_text_keeps_the_round_trip(raw: str) -> None:
    """Each text under every profile: making texts up takes longer than most profiles."""
    for name in NAMES:
        trace = parse(raw, name)
        for attempt in trace.attempts:
            apply(raw, attempt.span, attempt.edits)
        assert len(trace.values) == len(trace.chosen), name


@pytest.mark.parametrize("name", NAMES)
def test_a_long_integer_is_a_failure_at_most(name: str) -> None:
    parse("1" * 10_000, name)
    parse('{"a": ' + "1" * 10_000 + "}", name)


def test_arguments_that_a_server_cannot_decode_take_its_other_calls_with_them() -> None:
    good = '<|tool_call_begin|>f:0<|tool_call_argument_begin|>{"a": 1}<|tool_call_end|>'
    deep = f"<|tool_call_begin|>x<|tool_call_argument_begin|>{'[' * 5000}{']' * 5000}<|tool_call_end|>"
    assert parse(f"<|tool_calls_section_begin|>{good}", "vllm-kimi-k2").values == ({"a": 1},)
    assert parse(f"<|tool_calls_section_begin|>{good}{deep}", "vllm-kimi-k2").values == ()
