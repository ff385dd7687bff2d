"""Parsers in a child process: values and errors come back unchanged, and the death of one is an outcome."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from webapp.capture.process import NotStarted, ParserOutcome, ParserProcess

PARSERS = Path(__file__).with_name("parsers.py")
Run = Callable[..., ParserOutcome]


@pytest.fixture
def run() -> Iterator[Run]:
    """Parse texts one after the other with one parser of `parsers.py`; the last outcome is returned."""
    children: list[ParserProcess] = []

    def parse(
        function: str, *texts: str, between: Callable[[ParserProcess], None] = lambda _: None, **options: float
    ) -> ParserOutcome:
        children.append(ParserProcess(f"{PARSERS}:{function}", **options))  # type: ignore[arg-type]
        outcomes = []
        for text in texts:
            outcomes.append(children[-1].parse(text))
            between(children[-1])
        return outcomes[-1]

    yield parse
    for child in children:
        child.close()


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


def test_an_endless_loop_is_stopped_and_the_next_response_parsed(run: Run) -> None:
    outcome = run("hangs", "hang", seconds=0.5)
    assert outcome.error is not None
    assert outcome.error.type == "TimeoutError"

    def patient(child: ParserProcess) -> None:
        child.seconds = 60.0

    assert run("hangs", "hang", "[1]", between=patient, seconds=0.5).value == [1]


def test_a_process_that_ends_itself_is_replaced(run: Run) -> None:
    outcome = run("ends_the_process", "[1]", "end")
    assert outcome.error is not None
    assert (outcome.error.type, outcome.error.said) == ("ProcessDied", "its process ended by itself with exit code 3")
    assert run("ends_the_process", "end", "[1]").value == [1]


def test_a_segmentation_fault_is_an_outcome(run: Run) -> None:
    outcome = run("breaks_off", "break")
    assert outcome.error is not None
    assert (outcome.error.type, outcome.error.said) == ("ProcessDied", "its process was ended by SIGSEGV")
    assert run("breaks_off", "break", "[1]").value == [1]


def test_a_thread_that_goes_on_keeps_nobody_waiting(run: Run) -> None:
    assert run("leaves_a_thread", "[1]", "[2]").value == [2]


def test_sys_exit_is_an_error_like_another(run: Run) -> None:
    outcome = run("ends_the_process", "exit")
    assert outcome.error is not None
    assert (outcome.error.type, outcome.error.said) == ("SystemExit", "goodbye")


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux keeps to a limit of address space")
def test_memory_is_limited(run: Run) -> None:
    outcome = run("takes_memory", "eat")
    assert outcome.error is not None
    assert outcome.error.type == "MemoryError"


def test_standard_input_is_empty(run: Run) -> None:
    assert run("reads_standard_input", "x").value == ""


@pytest.mark.parametrize("text", ["\ud800", "\x00", "a\nb", "\u2028", "x" * 3_000_000], ids=len)
def test_any_text_arrives_as_it_is(run: Run, text: str) -> None:
    outcome = run("whole", text)
    assert not outcome.ok
    assert outcome.calls[0].text == text


def test_a_parser_that_cannot_be_imported_says_why() -> None:
    with pytest.raises(NotStarted, match="no_such_module"):
        ParserProcess("no_such_module:parse").parse("")
    with pytest.raises(NotStarted, match="no attribute 'nothing'"):
        ParserProcess(f"{PARSERS}:nothing").parse("")
    with pytest.raises(NotStarted, match="no/such/python"):
        ParserProcess(f"{PARSERS}:whole", python="no/such/python").parse("")
