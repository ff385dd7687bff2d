"""Any JSON by a mapping: fields, sessions, the path language, what a mapping may not say."""

from __future__ import annotations

import json

import pytest

from webapp.dumps.budget import BadDump
from webapp.dumps.json_path import BadPath, member, parse_path, value_at
from webapp.dumps.mappings import BadMapping, guessed
from webapp.dumps.opening import head_of
from webapp.dumps.reading import read
from webapp.dumps.records import SessionStart, Turn

MAPPING = {
    "raw": "$.output.text",
    "prompt": "$.input",
    "session": "$.run_id",
    "model": "$.model",
    "time": "$.at",
    "tokens_out": "$.usage[1]",
    "role": "$.who",
}
LINES = [
    {"run_id": 7, "input": "Q", "output": {"text": "{}"}, "model": "m", "at": 1750000000, "usage": [3, 4]},
    {"run_id": 8, "output": {"text": {"a": 1}}},
    {"run_id": 7, "output": {"text": "hello"}, "who": "user"},
    {"run_id": 7, "output": None},
]


def records(tmp_path, content: str, mapping: dict[str, str] = MAPPING) -> list:
    path = tmp_path / "x"
    path.write_text(content)
    return list(read(path, "x.jsonl", mapping=mapping))


@pytest.mark.parametrize(
    "write", ["\n".join, lambda lines: f"[{','.join(lines)}]", lambda lines: f'{{"runs": [{",".join(lines)}]}}']
)
def test_lines_lists_and_documents(tmp_path, write):
    found = records(tmp_path, write(list(map(json.dumps, LINES))))
    assert [record.external_id for record in found if isinstance(record, SessionStart)] == ["7", "8"]
    turns = [record for record in found if isinstance(record, Turn)]
    assert [(turn.entry, turn.kind, turn.raw, turn.model, turn.tokens_out) for turn in turns] == [
        (0, "prompt", "Q", None, None),
        (0, "response", "{}", "m", 4),
        (1, "prompt", "hello", None, None),
        (2, "event", None, None, None),
        (0, "response", '{"a":1}', None, None),
    ]
    assert turns[0].raw_at == ("input",)
    assert turns[2].raw_at == ("output", "text")
    assert turns[1].sent_at.year == 2025
    assert len([record for record in found if not isinstance(record, SessionStart | Turn)]) == 1


def test_our_own_dump_keeps_the_mapping(got, tmp_path):
    (start, *turns) = records(tmp_path, json.dumps(LINES[0]))
    own = {"version": "1", "format": start.source_format, "extra": start.extra}
    found = got(json.dumps({"session_id": "7", "entries": [LINES[0]], "fencepost": own}))
    assert found.only == turns


@pytest.mark.parametrize(
    ("mapping", "says"),
    [
        ({"session": "$.a"}, "no path for raw"),
        ({"raw": "$.a", "colour": "$.b"}, "no field 'colour'"),
        ({"raw": "$.a["}, "cannot be read from '['"),
        ({"raw": ""}, "a path is a text"),
    ],
)
def test_a_mapping_that_is_none(tmp_path, mapping, says):
    with pytest.raises(BadMapping, match="|".join([says.replace("[", r"\[")])):
        read(tmp_path / "x", "x", mapping=mapping)


def test_without_a_mapping(got):
    with pytest.raises(BadDump, match="needs a mapping"):
        got('{"a": 1}', "x", "mapped")


VALUE = {"a": {"b c": [1, {"d": "x"}]}, "": 3, "e.f": 4}


@pytest.mark.parametrize(
    ("path", "found", "place"),
    [
        ("$", VALUE, ()),
        ("$.a['b c'][0]", 1, ("a", "b c", 0)),
        ('$.a["b c"][-1].d', "x", ("a", "b c", 1, "d")),
        ('a["b c"][1].d', "x", ("a", "b c", 1, "d")),
        ('["e.f"]', 4, ("e.f",)),
        ('$[""]', 3, ("",)),
        ("$.a[0]", None, None),
        ("$.a.b", None, None),
        ("$.a['b c'][2]", None, None),
        ("$.a['b c'].d", None, None),
    ],
)
def test_paths(path, found, place):
    assert value_at(VALUE, parse_path(path)) == (found, place)


@pytest.mark.parametrize("key", ["a", "{status", "}", "a.b", "a b", "[0]", 'say "x"', "it's", "*", ""])
def test_the_path_of_a_member_leads_to_it(key):
    assert parse_path(member(key)) == (key,)


@pytest.mark.parametrize("path", ["", None, 3, "$a", "$..a", "$.a b", "$[a]", '$["\\x"]', "$.a]", "$[1.5]"])
def test_paths_that_cannot_be_read(path):
    with pytest.raises(BadPath):
        parse_path(path)


def test_only_entries_where_the_condition_holds_are_responses(tmp_path):
    lines = [{"kind": "llm", "text": "{}"}, {"kind": "noop", "text": "tick"}, {"kind": "llm", "text": "hello"}]
    for where in ("$.kind=llm", "$.kind != noop", "kind == 'llm'"):
        (_, *turns) = records(tmp_path, "\n".join(map(json.dumps, lines)), {"raw": "$.text", "where": where})
        assert [(turn.kind, turn.raw) for turn in turns] == [("response", "{}"), ("event", None), ("response", "hello")]
        assert turns[1].source == lines[1]
    with pytest.raises(BadMapping):
        records(tmp_path, "{}", {"raw": "$.text", "where": "$[=x"})


def test_a_guess_goes_by_the_shape_of_the_values(tmp_path):
    path = tmp_path / "own.jsonl"
    ours = [
        {"ts": f"2026-11-20T0{at}:00:00Z", "lvl": "info", "run": f"r{at // 4}", "from": who, "msg": f"hello {at}"}
        for at, who in enumerate(["human", "bot"] * 4)
    ]
    path.write_text("\n".join(map(json.dumps, ours)))
    mapping = guessed(head_of(path, "own.jsonl"))
    assert mapping == {"raw": "$.msg", "time": "$.ts", "session": "$.run", "role": "$.from"}
    found = records(tmp_path, path.read_text(), mapping)
    assert [record.external_id for record in found if isinstance(record, SessionStart)] == ["r0", "r1"]
    assert [record.kind for record in found if isinstance(record, Turn)] == ["prompt", "response"] * 4


def test_words_behind_which_somebody_speaks(tmp_path):
    (tmp_path / "x").write_text("Round 1\nKane: Gate 4.\nIt is free.\n**Host**: And you?\n[Moll]: Gate 5.\n")
    records = list(read(tmp_path / "x", "x", mapping={"said": "Kane, Moll", "asked": "Host"}))
    turns = [(turn.kind, turn.agent, turn.raw) for turn in records if isinstance(turn, Turn)]
    said = [
        ("response", "Kane", "Gate 4.\nIt is free."),
        ("prompt", "Host", "And you?"),
        ("response", "Moll", "Gate 5."),
    ]
    assert turns == said
    with pytest.raises(BadMapping):
        read(tmp_path / "x", "x", mapping={"said": "Kane", "raw": "$.text"})
