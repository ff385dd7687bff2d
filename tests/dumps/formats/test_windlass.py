"""Windlass dumps in all their variants, and the merging of what Windlass logs twice."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

from webapp.dumps.formats.windlass import decoded, kind_of

AGENT = {
    "timestamp": 1764772931.5,
    "session_id": "run_1",
    "trace_id": "t1",
    "parent_id": "p0",
    "node_type": "agent",
    "role": "agent",
    "depth": 1,
    "sounding_index": 2,
    "phase_name": None,
    "tokens_in": 10,
    "tokens_out": 20,
    "cost": 0.001,
    "model": "gemini",
    "content": '```json\n{"tool": "run_code"}}}\n```',
    "metadata": {"turn_number": 3, "attempt_number": 1},
}
OUTPUT = {
    "timestamp": 1764772931.6,
    "session_id": "run_1",
    "node_type": "turn_output",
    "role": "assistant",
    "sounding_index": None,
    "phase_name": "solve",
    "content": '```json\n{"tool": "run_code"}}}\n```',
    "metadata": {},
}
TOLD = {"node_type": "validation_error", "role": "user", "content": "⚠️ Tool Call JSON Error: Extra data: line 1"}
ERROR = {"node_type": "validation_error", "role": "json_parse_error", "content": "Extra data: line 1"}
TOOL = {
    "node_type": "tool",
    "role": "tool_result",
    "content": "Tool Result (run_code):\n42",
    "metadata": {"tool": "run_code"},
}
RESULT = {"node_type": "tool_result", "role": "tool", "content": "42"}


def dump(*entries: object, **more: object) -> str:
    return json.dumps({"session_id": "run_1", "entries": list(entries), **more})


def linked(turns) -> list[int | None]:
    return [turn.duplicate_of for turn in turns]


def test_a_dump_document(got):
    found = got(dump(AGENT, dumped_at="2025-12-03T14:44:02", entry_count=1))
    (start,) = found.starts
    assert (start.external_id, start.source_format, start.home) == ("run_1", "windlass", "windlass-strict")
    assert start.extra == {"dumped_at": "2025-12-03T14:44:02", "entry_count": 1}
    (turn,) = found.only
    assert (turn.entry, turn.kind, turn.role, turn.model) == (0, "response", "agent", "gemini")
    assert (turn.sounding, turn.round, turn.attempt, turn.parent) == (2, 3, 1, "p0")
    assert (turn.tokens_in, turn.tokens_out, turn.cost) == (10, 20, 0.001)
    assert turn.sent_at == datetime(2025, 12, 3, 14, 42, 11, 500000, UTC)
    assert (turn.raw, turn.raw_at) == (AGENT["content"], ("content",))
    assert turn.source == {**AGENT, "content": None}
    assert found.problems == []


@pytest.mark.parametrize(
    ("text", "session"),
    [
        ('{"entries": [%s], "source": "jsonl", "session_id": "late"}', "late"),
        ('{"entries": [%s]}', "run_1"),
        ('{"session_id": null, "entries": [%s]}', "run_1"),
        ('{"session_id": "", "entries": [%s]}', ""),
        ('{"session_id": 17.0, "entries": [%s]}', "17"),
        ('{"session_id": [1], "entries": [%s]}', "run_1"),
        ('{"session_id": "../../etc/x", "entries": [%s]}', "../../etc/x"),
    ],
)
def test_the_session_s_id_wherever_it_stands(got, text, session):
    found = got(text % json.dumps(AGENT))
    assert found.ids == [session]
    assert len(found.problems) == ("17" in text or "[1]" in text)


def test_without_any_id_the_session_is_called_as_the_file(got):
    data = '{"entries": [{"node_type": "agent", "content": "x"}]}'
    assert got(data, "night run.json.gz").ids == ["night run"]
    assert got(data, "logs/night run.json.gz").ids == ["logs/night run"]
    for path in ("/var/logs/night run.json", "../logs/night run.json", "C:\\logs\\night run.json"):
        assert got(data, path).ids == ["night run"]


def test_an_id_far_behind_the_entries_is_found(got):
    entries = [{**AGENT, "content": f"{number} " * 100} for number in range(3000)]
    found = got(json.dumps({"entries": entries, "source": "jsonl", "note": {"a": ["x"] * 20000}, "session_id": "late"}))
    assert found.ids == ["late"]
    assert len(found.only) == 3000


def test_plain_lines_of_entries(got):
    found = got("\n".join(json.dumps(entry) for entry in (AGENT, OUTPUT)) + "\n", "run.jsonl")
    assert found.ids == ["run_1"]
    assert linked(found.only) == [None, 0]


def test_interleaved_sessions_are_read_one_after_the_other(got):
    lines = [json.dumps({**AGENT, "session_id": name, "content": str(n)}) for n, name in enumerate("abacbb")]
    found = got("\n".join(["", *lines[:3], "", "{broken", "3", *lines[3:]]), "run.jsonl")
    assert found.ids == ["a", "b", "c"]
    assert [[turn.raw for turn in turns] for turns in found.turns] == [["0", "2"], ["1", "4", "5"], ["3"]]
    assert [[turn.entry for turn in turns] for turns in found.turns] == [[0, 1], [0, 1, 2], [0]]
    assert [problem.at for problem in found.problems] == ["line 6", "line 7"]


def test_a_list_of_entries_is_grouped_too(got):
    entries = [{**AGENT, "session_id": name} for name in "aba"]
    found = got(json.dumps([entries[0], 7, *entries[1:]]))
    assert found.ids == ["a", "b"]
    assert [problem.at for problem in found.problems] == ["[1]"]


def test_the_parquet_fallback_s_fields_are_json_text(got):
    entry = {
        **AGENT,
        "content": json.dumps('He said "{}"\n'),
        "metadata": json.dumps({"turn_number": 5}),
        "tool_calls": json.dumps([{"id": "c"}]),
        "image_paths": "[]",
        "depth": 1.0,
        "sounding_index": float("nan"),
    }
    found = got(dump(entry, source="parquet"))
    (turn,) = found.only
    assert (turn.raw, turn.raw_at, turn.round, turn.sounding) == ('He said "{}"\n', None, 5, None)
    assert turn.tool_calls == [{"id": "c"}]
    assert found.entries()[0]["content"] == entry["content"]


def test_a_json_object_as_text_stays_word_for_word(got):
    entry = {**AGENT, "content": '{"tool":  "x"}', "metadata": "{}"}
    (turn,) = got(dump(entry, source="parquet")).only
    assert (turn.raw, turn.raw_at) == ('{"tool":  "x"}', ("content",))


def test_a_response_that_is_a_json_string_is_not_unwrapped_elsewhere(got):
    (turn,) = got(dump({**AGENT, "content": '"done"'})).only
    assert turn.raw == '"done"'


def test_older_logs_write_metadata_as_python_and_nulls_as_nan(got):
    nan = float("nan")
    metadata = "{'turn_number': 4, 'tool': None}"
    (turn,) = got(dump({**AGENT, "metadata": metadata, "phase_name": nan, "tokens_in": nan, "model": nan})).only
    assert (turn.round, turn.phase, turn.tokens_in, turn.model) == (4, None, None, None)


def test_the_later_version(got):
    entry = {
        "timestamp": "2026-01-05 10:00:00.123456",
        "session_id": "run_1",
        "node_type": "agent",
        "role": "agent",
        "cell_name": "solve",
        "take_index": "1",
        "turn_number": 2,
        "attempt_number": 0,
        "content_json": '"{\\"a\\": 1}"',
        "tool_calls_json": "null",
        "metadata_json": "{}",
    }
    found = got(dump(entry))
    (turn,) = found.only
    assert (turn.phase, turn.sounding, turn.round, turn.attempt) == ("solve", 1, 2, 0)
    assert (turn.raw, turn.sent_at) == ('{"a": 1}', datetime(2026, 1, 5, 10, 0, 0, 123456, UTC))
    assert found.entries() == [entry]


@pytest.mark.parametrize(
    ("fields", "raw", "raw_at"),
    [
        ({"content": None}, None, None),
        ({}, None, None),
        ({"content": ""}, "", ("content",)),
        ({"content": 7}, "7", None),
        ({"content": [1, {"a": "é"}]}, '[1,{"a":"é"}]', None),
        ({"content": {"a": True}}, '{"a":true}', None),
        ({"content": "NUL \0 and \ud800"}, "NUL \0 and \ud800", ("content",)),
        ({"content_json": '{"a": 1}'}, '{"a": 1}', ("content_json",)),
        ({"content_json": "null"}, None, None),
        ({"full_response_json": '{"choices": [{"message": {"content": "hi"}}]}'}, "hi", None),
        ({"full_response_json": '{"choices": []}'}, None, None),
    ],
)
def test_the_text_of_an_entry(got, fields, raw, raw_at):
    entry = {"node_type": "agent", "role": "agent", **fields}
    found = got(dump(entry))
    assert (found.only[0].raw, found.only[0].raw_at) == (raw, raw_at)
    assert found.entries() == [entry]


def test_a_turn_logged_twice_is_linked_and_completed(got):
    first, second = got(dump(AGENT, OUTPUT)).only
    assert (first.duplicate_of, second.duplicate_of) == (None, 0)
    assert (first.model, first.phase, second.model) == ("gemini", "solve", None)


def test_the_same_side_is_never_merged(got):
    assert linked(got(dump(AGENT, AGENT, OUTPUT, OUTPUT)).only) == [None, None, 0, 1]


def test_each_is_merged_once_only(got):
    assert linked(got(dump(AGENT, OUTPUT, OUTPUT)).only) == [None, 0, None]


def test_twins_of_other_soundings_are_not_merged(got):
    other = {**OUTPUT, "sounding_index": 1}
    assert linked(got(dump(AGENT, other)).only) == [None, None]


def test_soundings_side_by_side_find_their_own_twin(got):
    one, two = ({**AGENT, "sounding_index": index} for index in (0, 1))
    twin_two, twin_one = ({**OUTPUT, "sounding_index": index} for index in (1, 0))
    assert linked(got(dump(one, two, twin_two, twin_one)).only) == [None, None, 1, 0]


def test_twins_too_far_apart_are_left_apart(got):
    between = [{"node_type": "log", "content": str(number)} for number in range(200)]
    assert linked(got(dump(AGENT, *between, OUTPUT)).only)[-1] is None


def test_a_failure_logged_twice_is_one_and_answers_the_response(got):
    turns = got(dump(AGENT, OUTPUT, TOLD, ERROR)).only
    assert linked(turns) == [None, 0, None, 2]
    assert [turn.answers for turn in turns] == [None, None, 0, 0]
    assert [turn.kind for turn in turns] == ["response", "response", "error", "error"]


def test_twenty_two_validation_errors_are_eleven_failures(got):
    turns = got(dump(*[AGENT, OUTPUT, ERROR, TOLD] * 11)).only
    errors = [turn for turn in turns if turn.kind == "error"]
    assert len(errors) == 22
    assert sum(turn.duplicate_of is None for turn in errors) == 11
    assert len({turn.answers for turn in errors}) == 11


def test_an_error_answers_the_last_response_of_its_own_sounding(got):
    one, two = ({**AGENT, "sounding_index": index, "content": str(index)} for index in (0, 1))
    turns = got(dump(one, two, {**ERROR, "sounding_index": 0})).only
    assert turns[2].answers == 0


def test_an_error_before_any_response_answers_none(got):
    assert got(dump(ERROR)).only[0].answers is None


def test_a_tool_result_logged_twice(got):
    turns = got(dump(TOOL, RESULT)).only
    assert linked(turns) == [None, 0]
    assert turns[0].agent == "run_code"


@pytest.mark.parametrize(
    ("node", "role", "kind"),
    [
        ("agent", "agent", "response"),
        ("turn_output", "assistant", "response"),
        ("validation_error", "json_parse_error", "error"),
        ("tool", "tool_result", "tool_result"),
        ("turn_input", "user", "prompt"),
        ("phase", "assistant", "event"),
        ("cost_update", "", "event"),
        ("reforge_attempt", "user", "event"),
        ("schema_validation", "", "event"),
        ("schema_validation_failed", "", "error"),
        ("evaluator", "assistant", "response"),
        ("", "assistant", "response"),
        ("", "user", "prompt"),
        ("never_heard_of", "system", "prompt"),
        ("never_heard_of", "", "event"),
    ],
)
def test_kinds(node, role, kind):
    assert kind_of(node, role) == kind


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"a": 1}, {"a": 1}),
        ('{"a": 1}', {"a": 1}),
        ("{'a': None, 'b': (1, 2)}", {"a": None, "b": (1, 2)}),
        ("{'a': '\\d'}", {"a": "\\d"}),
        ("{'a': open('x')}", None),
        ("{'a': nan}", None),
        ("{" * 5000, None),
        ("[" * 100_000, None),
        ("words", None),
        (None, None),
    ],
)
def test_structured_fields(value, expected):
    assert decoded(value) == expected


def test_entries_that_are_no_objects_are_problems(got):
    found = got(dump(3, None, AGENT, "x", [AGENT]))
    assert len(found.only) == 1 and found.only[0].entry == 0
    assert [(problem.at, problem.reason) for problem in found.problems] == [
        ("entries[0]", "expected an object, found a number; skipped"),
        ("entries[1]", "expected an object, found null; skipped"),
        ("entries[3]", "expected an object, found a text; skipped"),
        ("entries[4]", "expected an object, found a list; skipped"),
    ]


def test_a_wrong_count_of_entries_is_said(got):
    (problem,) = got(dump(AGENT, entry_count=52)).problems
    assert (problem.at, problem.reason) == ("entry_count", "the log says 52 entries and holds 1")


def test_odd_values_in_every_field_do_no_harm(got):
    for odd in (None, True, 7, 1e300, -1, "x", "", [], [1], {}, {"a": {}}, "\ud800", "9" * 400):
        found = got(dump(dict.fromkeys(AGENT, odd)))
        assert len(found.only) == 1
        assert found.entries() == [dict.fromkeys(AGENT, odd)]


def test_arguments_of_a_providers_own_calls_are_turns_and_merged_like_their_response(got):
    call = {"id": "c", "type": "function", "function": {"name": "run", "arguments": '{"a": 1,}'}}
    again = {**AGENT, "node_type": "turn_output", "role": "assistant", "tool_calls": [call]}
    entries = [{**AGENT, "content": "So:", "tool_calls": [call], "tokens_out": 3}, {**again, "content": "So:"}]
    found = got(dump(*entries))
    assert [(turn.entry, turn.kind, turn.raw, turn.duplicate_of, turn.tokens_out) for turn in found.only] == [
        (0, "response", "So:", None, 3),
        (0, "tool_call", '{"a": 1,}', None, None),
        (1, "response", "So:", 0, entries[1].get("tokens_out")),
        (1, "tool_call", '{"a": 1,}', 0, None),
    ]
    assert found.only[1].agent == "run"
    assert found.entries() == entries


def test_whole_sessions_one_a_line(got):
    sessions = [{"session_id": name, "entries": [AGENT | {"session_id": name}]} for name in ("a", "b")]
    found = got("\n".join(map(json.dumps, sessions)))
    assert found.ids == ["a", "b"] and {start.source_format for start in found.starts} == {"windlass"}
    assert [turn.raw for turns in found.turns for turn in turns] == [AGENT["content"]] * 2
