"""Parsers in a child process: values and errors come back unchanged, and the death of one is an outcome."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.capture.made import process
from webapp.capture.process import NotStarted, ParserOutcome, ParserProcess

PARSERS = Path(__file__).with_name("parsers.py")
Child = Callable[..., ParserProcess]
Run = Callable[[str, str], ParserOutcome]


@pytest.fixture
def child() -> Iterator[Child]:
    """Starts one of the parsers of `parsers.py`."""
    children: list[ParserProcess] = []

    def start(function: str, **options: float) -> ParserProcess:
        children.append(process(f"{PARSERS}:{function}", **options))
        return children[-1]

    yield start
    for each in children:
        each.close()


@pytest.fixture
def run(child: Child) -> Run:
    return lambda function, text: child(function).parse(text)


def test_a_value_comes_back_with_what_was_decoded(run: Run) -> None:
    outcome = run("whole", '{"a": [1, null]}')
    assert (outcome.ok, outcome.value) == (True, {"a": [1, None]})
    (call,) = outcome.calls
    assert (call.sink, call.text, call.ok) == ("json", '{"a": [1, null]}', True)
    assert call.site is not None
    assert (Path(call.site["file"]), call.site["source"]) == (PARSERS, "return json.loads(text)")


def test_an_error_comes_back_in_its_own_words(run: Run) -> None:
    outcome = run("whole", '{"a": }')
    assert outcome.error is not None
    assert (outcome.error.type, outcome.error.message, outcome.error.position) == (
        "JSONDecodeError",
        "Expecting value",
        6,
    )


@pytest.mark.parametrize("function", ["from_bytes", "in_a_thread", "prints"])
def test_every_way_to_the_decoder_is_seen(run: Run, function: str) -> None:
    outcome = run(function, '{"a": 1}')
    assert outcome.value == {"a": 1}
    assert [call.text for call in outcome.calls] == ['{"a": 1}']


def test_a_raw_decode_is_the_text_that_it_read(run: Run) -> None:
    outcome = run("last_object", 'x {"a": 1} y {b z')
    assert [(call.sink, call.text, call.ok) for call in outcome.calls] == [
        ("raw_decode", '{"a": 1}', True),
        ("raw_decode", "{b z", False),
    ]


def test_a_loop_of_failures_is_one_entry_with_its_count(run: Run) -> None:
    outcome = run("drops_from_the_end", '{"a": 1}' + "x" * 1000)
    assert outcome.value == {"a": 1}
    assert sum(call.count for call in outcome.calls) == 1001
    assert len(outcome.calls) == 4


def test_what_json_does_not_know_is_no_value_and_its_place_is_said(run: Run) -> None:
    outcome = run("gives_an_object", "")
    assert (outcome.value, outcome.no_json) == (None, "returned a dict with a Pattern at .pattern, which holds no JSON")


@pytest.mark.parametrize(
    ("function", "text", "kind", "said"),
    [
        ("hangs", "hang", "TimeoutError", "took longer than 0.5 s; the parser was stopped"),
        ("ends_the_process", "end", "ProcessDied", "its process ended by itself with exit code 3"),
        ("breaks_off", "break", "ProcessDied", "its process was ended by SIGSEGV"),
        ("ends_the_process", "exit", "SystemExit", "goodbye"),
        pytest.param(
            *("takes_memory", "eat", "MemoryError", ""),
            marks=pytest.mark.skipif(sys.platform != "linux", reason="only Linux keeps to a limit of address space"),
        ),
    ],
)
def test_what_stops_or_ends_a_parser_is_an_outcome_and_the_next_response_is_parsed(
    child: Child, function: str, text: str, kind: str, said: str
) -> None:
    process = child(function, seconds=0.5 if function == "hangs" else 60)
    error = process.parse(text).error
    assert error is not None and (error.type, error.said) == (kind, said)
    process.spec = replace(process.spec, seconds=60.0)
    assert process.parse("[1]").value == [1]


def test_a_thread_that_goes_on_keeps_nobody_waiting(child: Child) -> None:
    process = child("leaves_a_thread")
    assert [process.parse(text).value for text in ("[1]", "[2]")] == [[1], [2]]


def test_standard_input_is_empty(run: Run) -> None:
    assert run("reads_standard_input", "x").value == ""


@pytest.mark.parametrize("text", ["\ud800", "\x00", "a\nb", "\u2028", "x" * 3_000_000], ids=len)
def test_any_text_arrives_as_it_is(run: Run, text: str) -> None:
    outcome = run("whole", text)
    assert not outcome.ok
    assert outcome.calls[0].text == text


def test_a_parser_that_cannot_be_imported_says_why() -> None:
    with pytest.raises(NotStarted, match="no_such_module"):
        process("no_such_module:parse").parse("")
    with pytest.raises(NotStarted, match="no attribute 'nothing'"):
        process(f"{PARSERS}:nothing").parse("")
    with pytest.raises(NotStarted, match="no/such/python"):
        process(f"{PARSERS}:whole", python="no/such/python").parse("")
