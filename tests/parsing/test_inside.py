"""Capture inside a program: the same trace as from a process of its own; the place of what was read."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import fencepost
from fencepost import Trace, capture, parse, run
from tests.parsing import _cases
from tests.parsing.profiles import transcriptions
from webapp.parsing.edit import apply
from webapp.parsing.outcomes import trace_of

ROOT = Path(__file__).resolve().parents[2]
RAW = 'Sure:\n```json\n{"a": 1}}\n```'


def trimmed(text: str) -> Any:
    match = re.search(r"```json\n(.*?)```", text, re.DOTALL)
    inner = match[1] if match else text
    try:
        return json.loads(inner)
    except ValueError:
        return json.loads(inner.rstrip().rstrip("}") + "}")


def test_a_block_is_recorded() -> None:
    with capture(RAW) as seen:
        seen.value = trimmed(RAW)
    first, second = seen.trace.attempts
    assert (seen.trace.verdict, seen.trace.values, seen.trace.chosen) == ("repaired", ({"a": 1},), (1,))
    assert (first.outcome, second.edits[0].repair, second.edits[0].old) == ("failed", "removed", "}")
    assert second.site is not None
    assert second.site.place.startswith("test_inside.py:")
    assert second.site.source == 'return json.loads(inner.rstrip().rstrip("}") + "}")'
    assert fencepost.Trace.from_dict(json.loads(json.dumps(seen.trace.as_dict()))).attempts[1].site == second.site


def test_what_is_raised_is_in_the_trace_and_goes_on() -> None:
    with pytest.raises(ValueError, match="Expecting property name"), capture("{nothing") as seen:
        trimmed("{nothing")
    assert seen.trace.verdict == "failed"
    assert run(trimmed, "{nothing").as_dict()["attempts"][0]["error"]["type"] == "JSONDecodeError"


def test_without_a_value_the_last_that_decoded_is_the_result() -> None:
    with capture("[1]") as seen:
        trimmed("[1]")
    assert seen.trace.values == ([1],)


def test_threads_count_and_a_second_capture_is_refused() -> None:
    with capture("[1]") as seen:
        thread = threading.Thread(target=json.loads, args=("[1]",))
        thread.start()
        thread.join()
        with pytest.raises(RuntimeError, match="another capture"), capture("[2]"):
            pass
    assert len(seen.trace.attempts) == 1
    with pytest.raises(RuntimeError, match="once the block"):
        _ = capture("[3]").trace


def test_outside_of_a_block_nothing_is_recorded() -> None:
    with capture("[1]") as seen:
        pass
    json.loads("[2]")
    assert (seen.trace.attempts, seen.trace.verdict) == ((), "none")


def test_one_import_without_flask_and_hooks_only_where_they_are_wanted() -> None:
    code = (
        "import json, sys; decode = json.JSONDecoder.decode\n"
        "from fencepost import parse, Recorder\n"
        "assert json.JSONDecoder.decode is decode and parse('[1]').values == ([1],)\n"
        "from fencepost import capture\n"
        "assert json.JSONDecoder.decode is not decode\n"
        "print(sorted({'flask', 'sqlalchemy', 'click'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.stdout == "[]\n", done.stderr


def test_text_made_of_an_earlier_value_is_derived_and_says_from_what() -> None:
    def twice(text: str) -> Any:
        return json.loads(json.dumps(json.loads(text)[0]))

    trace = run(twice, '[{"a":1}]')
    assert trace.attempts[1].note is None or "derived" in trace.attempts[1].note
    written = run(lambda text: json.loads(json.dumps({"b": json.loads(text)})), "[1,  2]")
    assert [edit.repair for edit in written.attempts[1].edits] in (["derived"], ["inserted", "removed", "inserted"])


def test_what_stands_nowhere_is_said_to_be_unlocated() -> None:
    trace = run(lambda text: json.loads('{"made": "up", "of": ["nothing", "at", "all"]}'), "only prose here")
    attempt, swallowed = trace.attempts
    assert [edit.repair for edit in attempt.edits] == ["unlocated"] and swallowed.strategy == "swallowed"
    assert attempt.note == "unlocated: this text is nowhere in the response"


def test_a_value_of_the_parsers_own_making_is_said_to_be_one() -> None:
    trace = run(lambda text: {"begins": text[:3]}, "abc def")
    assert trace.attempts[0].strategy == "returned" and trace.values == ({"begins": "abc"},)
    assert trace_of("abc", fencepost_outcome()).verdict == "failed"


def fencepost_outcome() -> Any:
    from webapp.capture.process import ParserFailure, ParserOutcome

    return ParserOutcome(False, error=ParserFailure("ProcessDied", "x", "x"), ended="died")


PARSERS: dict[str, Callable[[str], Any]] = {
    "windlass-strict": transcriptions.windlass_strict,
    "windlass-eager": transcriptions.windlass_eager,
    "windlass-balanced": transcriptions.windlass_balanced,
    "four-tier": transcriptions.four_tier,
    "master-scored": transcriptions.master_scored,
    "master-before": transcriptions.master_before,
    "fire-circle": transcriptions.fire_circle,
    "fire-circle-before": transcriptions.fire_circle_before,
}


def test_at_least_99_of_100_stand_exactly_where_the_profile_has_them(shared: Path) -> None:
    """Same span and same edits as an attempt of the profile that decoded the same text; nothing is left unlocated."""
    counts: Counter[str] = Counter()
    texts = _cases.given(shared)[::2]
    for name, parser in PARSERS.items():
        for text in texts:
            count(text, run(parser, text), parse(text, name), counts)
    assert counts["attempts"] > 700
    assert counts["same"] >= 0.99 * counts["attempts"], counts
    assert counts["unlocated"] == 0, counts


def count(raw: str, captured: Trace, ours: Trace, counts: Counter[str]) -> None:
    known = {(apply(raw, a.span, a.edits), a.span, changes(a)) for a in ours.attempts}
    for attempt in captured.attempts:
        if attempt.strategy in ("returned", "swallowed"):  # what the parser made of what it decoded
            continue
        text = apply(raw, attempt.span, attempt.edits)
        counts["attempts"] += 1
        counts["same"] += (text, attempt.span, changes(attempt)) in known
        counts["unlocated"] += bool(text) and any(edit.repair == "unlocated" for edit in attempt.edits)


def changes(attempt: Any) -> tuple[Any, ...]:
    return tuple((edit.span, edit.new) for edit in attempt.edits)
