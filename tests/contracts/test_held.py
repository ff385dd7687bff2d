"""A call and an answer against what was declared: the state, the words, and where in the text."""

from __future__ import annotations

import pytest

from webapp.contracts.contract import Declaration
from webapp.contracts.held import held_answer, held_call

FLIGHTS = {
    "type": "object",
    "properties": {
        "origin": {"type": "string"},
        "passengers": {"type": "integer"},
        "cabin": {"enum": ["eco", "biz"]},
        "stops": {"type": "array"},
        "direct": {"type": "boolean"},
        "until": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
    },
    "required": ["origin", "passengers"],
    "additionalProperties": False,
}
DECLARED = {"tools": [{"name": "search_flights", "schema": FLIGHTS}, {"name": "now"}]}
FLOWN = '"origin": "OSL", "passengers": 2'

SHAPES = [
    ('{"origin": "OSL", "passengers": "two"}', '`passengers` must be an integer, and is "two"', '"two"'),
    ('{"origin": "OSL", "passengers": "2"}', '`passengers` must be an integer, and is a number as the text "2"', '"2"'),
    ('{"origin": "OSL"}', "`passengers` is missing", "}"),
    ('{"origin": "OSL", "Passengers": 2}', "`passengers` is missing; `Passengers` is another spelling of it", "}"),
    ("{}", "`origin` is missing: it is {}, without any of `origin`, `passengers`", "}"),
    (
        '{"raw_arguments": "{\\"origin\\":"}',
        "`origin` is missing: everything stands under one key that is not declared, `raw_arguments`",
        "}",
    ),
    (
        f'{{{FLOWN}, "direct": "true"}}',
        '`direct` must be true or false, and is the text "true", not the word',
        '"true"',
    ),
    (
        f'{{{FLOWN}, "stops": "[\\"BGO\\"]"}}',
        "`stops` must be a list, and is a JSON string that holds a list (encoded twice)",
        '"[\\"BGO\\"]"',
    ),
    (
        f'{{{FLOWN}, "cabin": "ECO"}}',
        '`cabin` must be one of "eco", "biz", and is "ECO": "eco" in another spelling',
        '"ECO"',
    ),
    (f'{{{FLOWN}, "cabim": "eco"}}', "`cabim` is not declared; did you mean `cabin`?", '"cabim"'),
    (
        f'{{{FLOWN}, "until": "x"}}',
        '`until` fits none of its 2 alternatives: `until` must be an integer, and is "x"',
        '"x"',
    ),
]


@pytest.mark.parametrize(("raw", "words", "marked"), SHAPES)
def test_a_known_shape_has_its_words_and_its_place(raw: str, words: str, marked: str) -> None:
    contract = held_call(raw, "search_flights", Declaration.of(DECLARED))
    first = contract.mismatches[0]
    assert (contract.state, contract.source, first.message) == ("schema_mismatch", "request", words)
    assert first.span is not None and raw[slice(*first.span)] == marked


@pytest.mark.parametrize(
    ("raw", "tool", "state", "words"),
    [
        (f"{{{FLOWN}}}", "search_flights", "kept", None),
        (f"{{{FLOWN},}}", "search_flights", "invalid_json", "Expecting property name enclosed in double quotes"),
        ('{"a": "NaN", "b": NaN}', "now", "invalid_json", "NaN is no JSON"),
        (
            f"{{{FLOWN}}}",
            "book_flight",
            "unknown_name",
            "no tool `book_flight` is declared; did you mean `search_flights`?",
        ),
        ("{}", "searchFlights", "unknown_name", "no tool `searchFlights` is declared; did you mean `search_flights`?"),
        (None, "now", "kept", None),
        ("", "now", "kept", None),
        ('{"any": 1}', "now", "kept", None),
        ("[" * 100_000, "now", "not_checked", None),
    ],
)
def test_a_call_has_one_state(raw: str | None, tool: str, state: str, words: str | None) -> None:
    contract = held_call(raw, tool, Declaration.of(DECLARED))
    assert (contract.state, contract.tool) == (state, tool)
    assert [mismatch.message for mismatch in contract.mismatches] == ([words] if words else [])


def test_a_word_that_is_no_json_is_marked_where_it_stands() -> None:
    raw = '{"a": "NaN", "b": NaN}'
    (mismatch,) = held_call(raw, "now", None).mismatches
    assert mismatch.span == (raw.rindex("NaN"), len(raw) - 1)


def test_what_is_not_declared_is_no_fault() -> None:
    assert held_call("{}", "x", None).state == "not_declared" == held_call("{}", "x", Declaration.of({})).state
    assert held_answer("{", None).state == "not_declared" == held_answer("{", Declaration.of(DECLARED)).state
    free = held_call(
        "*** Begin Patch", "apply_patch", Declaration.of({"tools": [{"name": "apply_patch"}]}), is_free=True
    )
    assert free.state == "kept"
    server = Declaration.of({"tools": [{"name": "mcp", "open": True}]})
    assert held_call("{}", "x", server).reason == "a server's tools are declared, and this log does not list them"


@pytest.mark.parametrize(
    ("choice", "tool", "words"),
    [
        ("none", "now", "the request allows no call"),
        ({"name": "now"}, "search_flights", "the request demands a call of `now`, and this is one of `search_flights`"),
        ("required", None, "the request demands a call of a tool, and there is no call"),
        ({"name": "now"}, None, "the request demands a call of `now`, and there is no call"),
        ("auto", "now", None),
        ({"name": "now"}, "now", None),
        ("auto", None, None),
    ],
)
def test_which_tools_may_be_called(choice: object, tool: str | None, words: str | None) -> None:
    declaration = Declaration.of(DECLARED | {"tool_choice": choice})
    contract = held_call("{}", tool, declaration) if tool else held_answer("Sure.", declaration)
    assert [(one.keyword, one.message) for one in contract.mismatches] == ([("tool_choice", words)] if words else [])


PERSON = {"type": "json_schema", "schema": {"type": "object", "properties": {"age": {"type": "integer"}}}}


@pytest.mark.parametrize(
    ("raw", "answer", "state"),
    [
        ('{"age": 3}', PERSON, "kept"),
        ('{"age": "ten"}', PERSON, "schema_mismatch"),
        ('```json\n{"age": 3}\n```', PERSON, "invalid_json"),
        ("[1]", {"type": "json_object"}, "schema_mismatch"),
        ("{}", {"type": "json_object"}, "kept"),
        ("Hello", {"type": "text"}, "not_declared"),
    ],
)
def test_an_answer_is_held_against_its_format(raw: str, answer: object, state: str) -> None:
    assert held_answer(raw, Declaration.of({"response_format": answer})).state == state


def test_a_text_beside_a_call_and_a_refusal_need_not_be_the_answer() -> None:
    declaration = Declaration.of({"response_format": PERSON, "tool_choice": "required"})
    assert held_answer("I look.", declaration, has_calls=True).state == "not_checked"
    assert held_answer("I can't.", declaration, is_refusal=True).reason == "the model refused to answer"


def test_a_tool_that_is_declared_twice_is_kept_where_one_of_both_is() -> None:
    twice = [{"name": "t", "schema": {"required": [key]}} for key in ("a", "b")]
    declaration = Declaration.of({"tools": [*twice, {"name": 7}, {"name": ""}, None, {}]})
    assert held_call('{"b": 1}', "t", declaration).state == "kept"
    assert held_call('{"c": 1}', "t", declaration).state == "schema_mismatch"


@pytest.mark.parametrize("arguments", ['{"origin": "OSL", "passengers": "2"}', '"{\\"origin\\": 1}"'])
def test_a_call_that_was_written_whole_is_held_by_its_arguments(arguments: str) -> None:
    raw = f'{{"name": "search_flights", "arguments": {arguments}}}'
    contract = held_call(raw, None, Declaration.of(DECLARED))
    assert (contract.state, contract.tool) == ("schema_mismatch", "search_flights")
    places = [(one.path, one.span and raw[slice(*one.span)]) for one in contract.mismatches]
    assert places[0] in (("$.arguments.passengers", '"2"'), ("$.arguments.origin", None))


def test_no_more_than_twenty_mismatches_are_told() -> None:
    declaration = Declaration.of({"tools": [{"name": "t", "schema": {"items": {"type": "string"}}}]})
    contract = held_call(str(list(range(50))), "t", declaration)
    assert len(contract.mismatches) == 20 and contract.more == 30
    assert contract.as_dict()["mismatches"][1] == {
        "path": "$[1]",
        "keyword": "type",
        "message": "$[1] must be a text, and is 1",
        "span": [4, 5],
        "schema_path": "/items/type",
    }
