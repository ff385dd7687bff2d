"""Windlass dumps in all their variants, and the merging of what Windlass logs twice."""

from __future__ import annotations

import json

import pytest

from webapp.dumps.formats.windlass import decoded

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


def dump(*entries: object, **more: object) -> str:
    return json.dumps({"session_id": "run_1", "entries": list(entries), **more})


def linked(turns) -> list[int | None]:
    return [turn.duplicate_of for turn in turns]


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


def test_twins_too_far_apart_are_left_apart(got):
    between = [{"node_type": "log", "content": str(number)} for number in range(200)]
    assert linked(got(dump(AGENT, *between, OUTPUT)).only)[-1] is None


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


def test_odd_values_in_every_field_do_no_harm(got):
    for odd in (None, True, 7, 1e300, -1, "x", "", [], [1], {}, {"a": {}}, "\ud800", "9" * 400):
        found = got(dump(dict.fromkeys(AGENT, odd)))
        assert len(found.only) == 1
        assert found.entries() == [dict.fromkeys(AGENT, odd)]
