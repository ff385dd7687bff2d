"""The walk through one JSON document: every good item comes out, damage has a place, windows may fall anywhere."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.pace import is_linear
from webapp import jsontext
from webapp.dumps.budget import BadDump
from webapp.dumps.decoding import MAX_DEPTH, kind_of
from webapp.dumps.loose_json import uncommented
from webapp.dumps.records import Problem
from webapp.dumps.stream import DocumentMember, Item, ItemSkipper, walk
from webapp.dumps.window import Resync, TooLong, Window

ENTRIES = frozenset(("entries",))


def parts(text: str, size: int = 7, streamed: frozenset[str] | None = ENTRIES) -> list:
    return list(walk((text[at : at + size] for at in range(0, len(text), size)), streamed))


def items(text: str, size: int = 7) -> list:
    return [part.value for part in parts(text, size) if isinstance(part, Item)]


def problems(text: str) -> list[tuple[str, str]]:
    return [(part.at, part.reason) for part in parts(text) if isinstance(part, Problem)]


def members(text: str) -> dict:
    return {part.key: part.value for part in parts(text) if isinstance(part, DocumentMember)}


def test_a_list_at_the_top_is_walked():
    assert [part.at for part in parts('[{"a": 1}, 2]') if isinstance(part, Item)] == ["[0]", "[1]"]


def test_nan_lone_surrogates_and_long_integers_survive():
    (found,) = items('{"entries": [{"a": NaN, "b": "\\ud800", "c": 123456789012345678901234567890, "d": -Infinity}]}')
    assert math.isnan(found["a"])
    assert (found["b"], found["c"], found["d"]) == ("\ud800", 123456789012345678901234567890, -math.inf)


def test_raw_control_characters_in_a_string_are_kept():
    assert items('{"entries": [{"a": "one\ntwo\0"}]}') == [{"a": "one\ntwo\0"}]


@pytest.mark.parametrize(
    ("text", "kept", "at", "reason"),
    [
        ('{"entries": [{"a": 1, "b": 2}, {"a": "said "hi", ok"}, {"a": 3, "b": 1}]}', 2, "entries[1]", "delimiter"),
        ('{"entries": [{"a": 1, "b": 2}, {"a": "open, "b": 3}, {"a": 3, "b": 1}]}', 2, "entries[1]", "delimiter"),
        ('{"entries": [{"a": 1}, {"a": [1, {"x": 2}, "b": 3}, {"a": 3, "b": 1}]}', 2, "entries[1]", "delimiter"),
        ('{"entries": [{"a": 1}, {"a": undefined}, {"a": 3}]}', 2, "entries[1]", "expecting value"),
        ('{"entries": [{\'a\': 1}, {"a": 3}]}', 1, "entries[0]", "property name"),
        ('{"entries": [{"a": 1}}}, {"a": 2}]}', 2, "entries[1]", "expected a comma or ]"),
        ('{"entries": [{"a": 1} {"a": 2}]}', 2, "entries[1]", "a comma is missing"),
        ('{"entries": [{"a": 1}, {"a": 2},]}', 2, "entries[2]", "a comma too many"),
        ('{"entries": [{"a": 1},, {"a": 2}]}', 2, "entries[1]", "a comma too many"),
        ('{"entries": [{"a": 1},,,, ,,{"a": 2}]}', 2, "entries[1]", "a comma too many"),
        ('{"entries": [{"a": 1, "a": 2}]}', 1, "entries[0]", "'a' occurs twice"),
        ('{"entries": [{"a": 1}, {"a": ' + "9" * 5000 + '}, {"a": 3}]}', 2, "entries[1]", "4300 digits"),
        ('{"entries": [{"a": 1}, {"a": ' + "[" * 9000 + "]" * 9000 + '}, {"a": 3}]}', 2, "entries[1]", "nested deeper"),
        ('{"entries": [{"a": 1}, {"a": ' + "[" * 500 + "]" * 500 + '}, {"a": 3}]}', 2, "entries[1]", "nested deeper"),
        ('{"entries": [{"a": 1}, {"a": "cut in the mid', 1, "entries[1]", "ends before another"),
        ('{"entries": [{"a": 1}, {"a": 2}', 2, "character 31", "ends in the middle of the list"),
        ('{"entries": [{"a": 1}]', 1, "character 22", "ends in the middle of the document"),
        ('{"entries": [{"a": 1}]} {}', 1, "character 24", "follows the end"),
        ('{"x": 1, "x": 2, "entries": [{"a": 1}]}', 1, "x", "occurs twice in the document"),
        ('{x: 1, "entries": [{"a": 1}]}', 1, "character 1", "property name"),
        ('{"x" 1, "entries": [{"a": 1}]}', 1, "character 5", "colon"),
        ('{"x": oops, "entries": [{"a": 1}]}', 1, "character 6", "expecting value"),
    ],
)
def test_damage_has_a_place_and_the_rest_is_read(text, kept, at, reason):
    assert len(items(text)) == kept
    assert len(problems(text)) == 1
    found_at, found_reason = problems(text)[0]
    assert found_at == at
    assert reason.replace("property name", "expecting") in found_reason or reason in found_reason


def test_a_nested_object_like_an_item_is_not_taken_for_the_next_one():
    inner = '"in": [{"id": 1}, {"role": 2, "y": 3}]'
    text = '{"entries": [{"role": "a", "x": 1}, {"role": oops, ' + inner + '}, {"role": "b", "x": 2}]}'
    assert items(text) == [{"role": "a", "x": 1}, {"role": "b", "x": 2}]


def test_a_depth_below_the_limit_is_read():
    text = "[" * (MAX_DEPTH - 2) + "]" * (MAX_DEPTH - 2)
    assert jsontext.depth(items('{"entries": [' + text + "]}")[0]) == MAX_DEPTH - 2


@pytest.mark.parametrize(
    ("text", "reason"), [("", "empty"), (" \n", "empty"), ("hello", "not JSON"), ("3", "not JSON")]
)
def test_what_is_no_document_is_refused(text, reason):
    with pytest.raises(BadDump, match=reason):
        parts(text)


def test_words_for_values():
    assert [kind_of(value) for value in (None, True, False, {}, [], "", 1, 1.5)] == [
        "null", "true", "false", "an object", "a list", "a text", "a number", "a number",
    ]  # fmt: skip


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@settings(max_examples=60)
@given(st.lists(JSON, max_size=6), st.integers(1, 40), st.sampled_from([None, 1]), st.booleans())
def test_any_list_is_read_as_json_loads_reads_it_wherever_windows_fall(values, size, indent, ascii_only):
    text = json.dumps({"before": 1, "entries": values, "after": [1]}, indent=indent, ensure_ascii=ascii_only)
    assert items(text, size) == json.loads(text)["entries"]
    assert members(text) == {"before": 1, "after": [1]}
    assert problems(text) == []


@given(st.text(alphabet='{}[]",:\\aent0. ', max_size=60), st.integers(1, 9))
def test_no_text_makes_the_walk_fail_or_run_on(text, size):
    try:
        found = parts('{"entries": [' + text, size)
    except BadDump:
        return
    assert len(found) <= 4 * len(text) + 10


def test_a_damaged_item_of_many_megabytes_is_passed_in_linear_time():
    text = '{"entries": [{"a": oops, "b": "' + 'x\\"' * 200_000 + '"}, {"a": 1}]}'
    assert items(text, 65536) == [{"a": 1}]


@pytest.fixture
def little(monkeypatch):
    """Limits of a few kilobytes."""
    monkeypatch.setattr("webapp.dumps.budget.MOST_CHARACTERS", 5000)
    monkeypatch.setattr("webapp.dumps.window.NEAR", 1000)


@pytest.mark.parametrize("size", [100, 999, 4096])
@pytest.mark.parametrize("rest", ['"', '\\\\"', '", "c": [[1, {"d": "]}"}], "\\"]"]'])
def test_an_item_that_is_too_long_is_passed_and_what_follows_is_read(little, rest, size):
    found = parts('[{"a": 1}, {"b": "' + "x" * 30_000 + rest + '}, {"a": 2}]', size)
    assert [part.value for part in found if isinstance(part, Item)] == [{"a": 1}, {"a": 2}]
    (problem,) = [part for part in found if isinstance(part, Problem)]
    assert problem.at == "[1]" and problem.reason.startswith("longer than")


@pytest.mark.parametrize("size", [100, 999, 65536])
def test_an_item_of_too_many_values_is_passed_before_they_are_made(little, monkeypatch, size):
    monkeypatch.setattr("webapp.dumps.budget.MOST_CHARACTERS", 100_000)
    monkeypatch.setattr("webapp.dumps.budget.MOST_VALUES", 4000)
    text = '[{"a": 1}, {"b": [' + "{}," * 25_000 + '1]}, {"c": "' + ",[{" * 5000 + '"}, {"a": 2}]'
    found = parts(text, size)
    assert [part.value for part in found if isinstance(part, Item)] == [{"a": 1}, {"c": ",[{" * 5000}, {"a": 2}]
    (problem,) = [part for part in found if isinstance(part, Problem)]
    assert problem.at == "[1]" and "more than 4,000 values" in problem.reason


def test_a_member_that_is_too_long_is_passed_and_what_follows_is_read(little):
    text = '{"a": 1, "b": "' + 'x}\\"' * 9000 + '", "c": {"d": [' + "1, " * 9000 + '1]}, "entries": [1, 2], "e": 3}'
    assert members(text) == {"a": 1, "e": 3}
    assert items(text) == [1, 2]
    assert [at for at, _ in problems(text)] == ["b", "c"]


def test_an_item_is_never_held_far_beyond_the_limit(little):
    held = []

    def pieces():
        yield '[{"a": "'
        for _ in range(2000):
            yield "x" * 100
            held.append(len(window.text))
        yield '"}, 1]'

    window = Window(pieces())
    window.peek()
    window.at += 1
    with pytest.raises(TooLong):
        window.value()
    Resync().skip(window)
    assert window.peek() == ","
    assert max(held) < 6000


def test_an_item_within_the_limit_is_read_however_long(little):
    text = '[{"a": "' + "ä\ud800\\\\" * 1000 + '"}, 1]'
    assert items(text, 100) == json.loads(text)


def ends_at(text: str, level: int = 0, quoted: bool = False) -> int | None:
    """Where the item ends, a character at a time."""
    at = 0
    while at < len(text):
        char = text[at]
        if not quoted and level <= 0 and char in ",]":
            return at
        at += 2 if char == "\\" else 1
        quoted ^= char == '"'
        if not quoted:
            level = max(0, level + (char in "{[") - (char in "}]"))
    return None


MARKS = st.sampled_from(["{", "}", "[", "]", ",", "a", '\\"', "\\]", '"a"', '"\\\\"', '"\\""', '"{[,]"', '"\\\\\\""'])


@given(st.lists(MARKS, max_size=30), st.sampled_from(["", '"a', '"a\\']), st.integers(1, 20))
def test_an_items_end_is_found_in_pieces_as_a_character_at_a_time(marks, rest, size):
    text, skipper, found = "".join(marks) + rest, ItemSkipper(), None
    for at in range(0, len(text), size):
        if found is None and (end := skipper.end(text[at : at + size])) is not None:
            found = at + end
    assert found == ends_at(text)


OBJECTS = ['{"a": 1, "b": 2}', ', {"a": 1, "b": 3}', '{"a": oops', '"open', " " * 600]


@given(st.lists(MARKS | st.sampled_from(OBJECTS), max_size=30).map("".join), st.integers(1, 700))
def test_the_next_item_is_found_wherever_windows_fall(text, size):
    found = set()
    for length in (size, len(text) + 1):
        window, resync = Window(text[at : at + length] for at in range(0, len(text), length)), Resync()
        resync.learn({"a": 1, "b": 2})
        resync.skip(window)
        found.add(window.base + window.at)
    assert len(found) == 1


def test_a_line_that_is_too_long_is_passed_over(got, monkeypatch):
    monkeypatch.setattr("webapp.dumps.budget.MOST_CHARACTERS", 5000)
    said = [f'{{"role": "user", "content": "{text}"}}' for text in ("a", "x" * 3_000_000, "b")]
    found = got("\n".join(said), "m.jsonl")
    assert [turn.raw for turn in found.only] == ["a", "b"]
    assert [problem.at for problem in found.problems] == ["line 2"]


@pytest.mark.parametrize("name", ["m.json", "m.jsonl"])
def test_a_dump_whose_only_item_is_too_long_is_refused_with_its_place_and_the_limit(got, little, monkeypatch, name):
    monkeypatch.setattr("webapp.dumps.budget.MOST_CHARACTERS", 5000)
    said = json.dumps({"role": "user", "content": "x" * 3_000_000})
    with pytest.raises(BadDump, match="the most that one") as refused:
        got(f"[{said}]" if name == "m.json" else f"{said}\n{said}\n", name)
    assert refused.value.at == ("[0]" if name == "m.json" else "line 1")


def test_a_format_is_told_by_what_follows_a_long_beginning(got, little):
    long, sound = "x" * 3_000_000, '{"role": "user", "content": "a"}'
    for text in (
        f'{{"note": "{long}", "messages": [{sound}]}}',
        f'{{"tags": [], "note": "{long}", "messages": [{sound}]}}',
        f'[{{"role": "user", "content": "{long}"}}, {sound}]',
    ):
        found = got(text, "m.json")
        assert [turn.raw for turn in found.only] == ["a"]
        assert "longer than" in found.problems[0].reason


def test_pieces_that_end_within_a_string_full_of_escapes_take_linear_time():
    skipper, piece = ItemSkipper(), '\\"x, {[' * 300_000
    assert skipper.end('{"a": "' + piece) is None
    assert skipper.end(piece) is None
    assert skipper.end(piece + '"}, 1]') == len(piece) + 2


@pytest.mark.parametrize("unclosed", ["/* ", '"\\'])
def test_time_grows_no_faster_than_what_nothing_closes(unclosed: str) -> None:
    short, long = ("// a\n{" + unclosed * count for count in (1_000, 8_000))
    assert uncommented(short) is uncommented(long) is None
    assert is_linear(lambda: uncommented(short), lambda: uncommented(long), 8)
