"""Every key and value is found where it stands, in the decoded text and through the edits in the raw text."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.pace import is_linear
from webapp.parsing import parse, profiles, words
from webapp.parsing.drawing import nodes
from webapp.parsing.edit import Edit, Span, apply, composed, places
from webapp.parsing.trace import UNFIT, misfit, read_stored

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=20,
)


def flat(value: Any, depth: int = 0) -> list[tuple[int, Any]]:
    children = value.values() if isinstance(value, dict) else value if isinstance(value, list) else []
    return [(depth, value)] + [found for child in children for found in flat(child, depth + 1)]


def test_keys_and_values_stand_where_they_are() -> None:
    text = '{"a": [1, true], "b": {}}'
    found, more = nodes(text, 100)
    assert not more
    assert [
        (n.depth, n.kind, text[n.start : n.end], n.key and text[slice(*n.key)], n.place, n.size) for n in found
    ] == [
        (0, "object", text, None, 0, 2),
        (1, "array", "[1, true]", '"a"', 0, 2),
        (2, "number", "1", None, 0, None),
        (2, "word", "true", None, 1, None),
        (1, "object", "{}", '"b"', 1, 0),
    ]


@given(JSON, st.sampled_from([None, 2]), st.booleans())
def test_each_node_decodes_to_its_value(value: Any, indent: int | None, ascii_only: bool) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=ascii_only)
    found, _ = nodes(text, 10_000)
    assert [(node.depth, json.loads(text[node.start : node.end])) for node in found] == flat(value)


def test_no_more_than_the_limit_is_looked_at_and_open_ends_are_said() -> None:
    found, more = nodes("[" + "1," * 1000 + "1]", 10)
    assert (len(found), more, found[0].end, found[0].size) == (10, True, None, None)


def test_a_hundred_thousand_open_brackets_are_no_trouble() -> None:
    assert nodes("[" * 100_000, 50) == (nodes("[" * 50, 50)[0], True)


def test_a_text_that_is_no_json_ends_where_it_stops_being_any() -> None:
    found, more = nodes('{"a": 1, b: 2}', 10)
    assert ([node.kind for node in found], more) == (["object", "number"], False)


def test_new_text_counts_as_the_text_that_it_replaced() -> None:
    raw = "x {'a': 1,}"
    edits = (Edit("q", Span(3, 4), "'", '"'), Edit("q", Span(5, 6), "'", '"'), Edit("c", Span(9, 10), ",", ""))
    mapped = places(Span(2, 11), edits)
    assert apply(raw, Span(2, 11), edits) == '{"a": 1}'
    assert mapped.raw(1, 4) == Span(3, 6)
    assert mapped.raw(6, 7) == Span(8, 9)
    assert mapped.raw(0, 8) == Span(2, 11)
    assert places(Span(4, 4), ()).raw(0, 0) == Span(4, 4)


@given(JSON.filter(lambda value: isinstance(value, dict | list)), st.data())
def test_the_raw_slice_of_a_node_with_its_edits_applied_decodes_to_its_value(value: Any, data: st.DataObject) -> None:
    text = json.dumps(value, ensure_ascii=False, indent=data.draw(st.sampled_from([None, 1])))
    cut = sorted(data.draw(st.sets(st.integers(0, len(text)), max_size=8)))
    raw, edits, at = "prose ", [], 0
    for start, end in zip(cut[::2], cut[1::2], strict=False):
        old = data.draw(st.sampled_from(["", "'", "\n//"]))
        raw += text[at:start]
        edits.append(Edit("some_repair", Span(len(raw), len(raw) + len(old)), old, text[start:end]))
        raw, at = raw + old, end
    raw += text[at:]
    span = Span(6, len(raw))
    assert apply(raw, span, edits) == text
    bounds = set(cut[: len(cut) // 2 * 2])
    mapped = places(span, edits)
    for node in nodes(text, 1000)[0]:
        found = mapped.raw(node.start, node.end or 0)
        inside = [e for e in edits if found.start <= e.span.start and e.span.end <= found.end]
        wanted = text[node.start : node.end]
        assert wanted in apply(raw, found, inside)
        straddled = any(
            s < b < e for s, e in zip(cut[::2], cut[1::2], strict=False) for b in (node.start, node.end or 0)
        )
        if not straddled and not bounds & {node.start, node.end}:
            assert apply(raw, found, inside) == wanted


def drawn_edits(data: st.DataObject, text: str, offset: int) -> list[Edit]:
    """Some replacements, removals and insertions in a text that begins at `offset`."""
    edits, cut = list[Edit](), sorted(data.draw(st.sets(st.integers(0, len(text)), max_size=6)))
    for start, end in pairwise(cut):
        start += data.draw(st.integers(0, end - start))
        new = data.draw(st.sampled_from(["", "X", "YZ"]))
        edits.append(Edit("some_repair", Span(offset + start, offset + end), text[start:end], new))
    return edits


@given(st.text("abc", max_size=12), st.integers(0, 3), st.data())
def test_edits_of_an_edited_text_are_composed_to_edits_of_the_raw_one(text: str, start: int, data: Any) -> None:
    raw, span = "-" * start + text, Span(start, start + len(text))
    first = drawn_edits(data, text, start)
    edited = apply(raw, span, first)
    second = drawn_edits(data, edited, 0)
    assert apply(raw, span, composed(raw, span, first, second)) == apply(edited, Span(0, len(edited)), second)


def test_many_edits_over_many_are_composed_in_linear_time() -> None:
    def composing(count: int) -> Callable[[], object]:
        first = [Edit("quotation_mark", Span(4 * at, 4 * at + 1), ">", "") for at in range(count)]
        second = [Edit("missing_comma", Span(3 * at, 3 * at), "", ",") for at in range(count)]
        return lambda: composed(">a b" * count, Span(0, 4 * count), first, second)

    assert is_linear(composing(6_000), composing(60_000), 10)


RAW = "Sure:\n{'tool': 'run', 'n': 1,}}\nand {x}"


@pytest.mark.parametrize("name", profiles())
def test_every_profiles_trace_fits_its_text(name: str) -> None:
    for raw in (RAW, "", "{}", "[1, 2", "no JSON", '{"a": "\ud800"}', "```json\n{a: 1}\n```"):
        trace = parse(raw, name)
        assert misfit(raw, trace.as_dict()) is None
        assert read_stored(raw, trace.as_dict()) == trace


def with_edit(**change: Any) -> dict[str, Any]:
    document = parse(RAW, "fencepost").as_dict()
    attempt = next(attempt for attempt in document["attempts"] if attempt["edits"])
    attempt["edits"][0] |= change
    return document


@pytest.mark.parametrize(
    ("raw", "document", "why"),
    [
        (RAW[:5], parse(RAW, "fencepost").as_dict(), "is outside of the text, which has 5 characters"),
        ("x" + RAW, parse(RAW, "fencepost").as_dict(), "removes a text that is not there"),
        (RAW, with_edit(old="other"), "removes a text that is not there"),
        (RAW, with_edit(span=[900, 901]), "is outside of its span"),
        (RAW, with_edit(span=[-1, 0]), "is outside of its span"),
        (RAW, parse(RAW, "fencepost").as_dict() | {"chosen": [99]}, "chose an attempt that it has not"),
        (RAW, {"profile": "fencepost", "version": "1"}, "it is no trace: KeyError"),
    ],
)
def test_what_does_not_fit_says_why(raw: str, document: dict[str, Any], why: str) -> None:
    trace = read_stored(raw, document)
    assert (trace.version, trace.verdict, trace.attempts, trace.chosen) == (UNFIT, "failed", (), ())
    said = words.trace_sentence(trace)
    assert why in said and "--again` parses it again" in said
    assert read_stored(raw, trace.as_dict()) == trace
