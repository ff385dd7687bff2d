"""Report 002: its unit test with score 120, its four usage examples, and what the scoring hides."""

from __future__ import annotations

import re

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.parsing.profiles.transcriptions import MASTER
from webapp.parsing import parse
from webapp.parsing.profiles import master
from webapp.parsing.span import Span

UNIT = (
    '\nAnalyzing the task...\n{\n  "complexity": 5,\n  "strategy": "flat_delegation",\n  '
    '"agents": [{"name": "coder"}],\n  "bridges": [],\n  "reasoning": "This is a complex ML task"\n}\nDone!\n'
)


def test_the_unit_test_scores_120():
    trace = parse(UNIT, "master-scored")
    assert trace.values[0]["agents"] == [{"name": "coder"}]
    chosen = trace.attempts[trace.chosen[0]]
    assert (chosen.score, chosen.strategy) == (120, "balanced")
    assert chosen.note == "[JSONParser] Selected JSON with score 120"


def test_before_stopped_at_the_first_closing_brace():
    trace = parse(UNIT, "master-before")
    assert trace.verdict == "failed"
    assert trace.attempts[0].span.end == UNIT.index("}") + 1


def test_every_candidate_is_shown_with_its_score():
    trace = parse('{"status": "ok"} {"strategy": 1} {x} {"agents": [], "complexity": 5}', "master-scored")
    assert [attempt.score for attempt in trace.attempts] == [0, 10, None, 110]
    assert [attempt.outcome for attempt in trace.attempts] == ["rejected", "rejected", "failed", "accepted"]
    assert trace.attempts[0].reason == "another object wins with 110"


def test_ties_go_to_the_first():
    trace = parse('{"a": 1} {"b": 2}', "master-scored")
    assert trace.values == ({"a": 1},)
    assert trace.attempts[1].reason == "another object wins as the first of that score"


def test_the_first_fence_wins_unscored():
    raw = '```json\n{"a": 1}\n```\n```json\n{"agents": []}\n```'
    trace = parse(raw, "master-scored")
    assert trace.values == ({"a": 1},)
    assert [attempt.score for attempt in trace.attempts] == [None]


def test_the_fence_pattern_stops_at_three_levels():
    raw = '```json\n{"a": {"b": {"c": {}}}}\n``` {"agents": []}'
    trace = parse(raw, "master-scored")
    assert [attempt.strategy for attempt in trace.attempts] == ["balanced", "balanced"]
    assert trace.values == ({"agents": []},)


def test_a_stray_closing_brace_hides_what_follows():
    trace = parse('} {"agents": []}', "master-scored")
    assert [attempt.strategy for attempt in trace.attempts] == ["whole"]
    assert trace.verdict == "failed"


def test_an_array_of_objects_gives_its_first_element():
    trace = parse('[{"a": 1}, {"a": 2}]', "master-scored")
    assert (trace.verdict, trace.values) == ("extracted", ({"a": 1},))


def test_the_whole_text_comes_last_and_then_an_error_object():
    assert parse(" [1] ", "master-scored").attempts[0].note == "[JSONParser] Parsed entire response as JSON"
    trace = parse("no JSON", "master-scored")
    assert (trace.verdict, trace.values) == ("failed", ())
    assert trace.attempts[0].note.endswith('the program gets {"error", "raw_response"}')


def test_before_takes_the_first_match_only():
    assert parse('see {x} and {"a": 1}', "master-before").attempts[0].span == Span(4, 7)
    assert parse("} {", "master-before").attempts == ()
    assert parse('a {"b": 1} c', "master-before").values == ({"b": 1},)


@settings(max_examples=500)
@given(st.lists(st.sampled_from(["```json", "```", "{", "{", "}", "}", " ", "\n", "a"]), max_size=24).map("".join))
def test_the_possessive_patterns_equal_the_report_s(text):
    for (_, pattern), original in zip(master.FENCES, (MASTER, MASTER.replace("json", "")), strict=True):
        found = [match.span(1) for match in pattern.finditer(text)]
        assert found == [match.span(1) for match in re.finditer(original, text, re.DOTALL)]
