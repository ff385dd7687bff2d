"""A call and an answer against what was declared, in any dialect: the state, the words, and where in the text."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks import contract_twins
from benchmarks.contracts import compared
from tests.contracts.dialects import DIALECTS, contracts
from tests.parsing import _cases
from webapp.contracts.contract import STATES, Declaration
from webapp.contracts.held import Holder, held_answer, held_call
from webapp.dumps.reading import read
from webapp.dumps.records import Stop, Turn

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
WRITES = {"properties": {"file": {}, "content": {}}, "required": ["file"]}
DECLARED = {
    "tools": [{"name": "search_flights", "schema": FLIGHTS}, {"name": "now"}, {"name": "write_file", "schema": WRITES}]
}


@pytest.mark.parametrize("case", _cases.read(Path(__file__).with_name("held.md")), ids=lambda case: case.name)
def test_case(case: _cases.Case) -> None:
    """A call of the named tool: its mismatches or its reason, its state, and where the first mismatch stands."""
    tool, ends = case.done
    state, _, place = ends.partition("@")
    contract = held_call(case.raw, tool, Declaration.of(DECLARED))
    assert (contract.state, contract.tool) == (state, tool)
    assert contract.source == (None if state == "invalid_json" else "request")
    said = [contract.reason] if contract.reason else [mismatch.message for mismatch in contract.mismatches]
    assert said == case.values
    assert ["-".join(map(str, one.span)) for one in contract.mismatches[:1] if one.span] == [place][: bool(place)]


def test_what_has_no_text_is_kept_and_what_is_too_deep_is_not_checked() -> None:
    assert held_call(None, "now", Declaration.of(DECLARED)).state == "kept"
    assert held_call("[" * 100_000, "now", Declaration.of(DECLARED)).state == "not_checked"


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


@pytest.mark.parametrize(
    ("why", "raw", "words"),
    [
        ("tool_call", "I look.", ["it stopped to call a tool, and there is no call"]),
        ("tool_call", "", ["it stopped to call a tool, and there is no call"]),
        ("malformed", "", ["the provider could not read the call"]),
        ("malformed", "I look.", []),
        ("complete", "I look.", []),
    ],
)
def test_why_it_stopped_is_held_against_what_came(why: str, raw: str, words: list[str]) -> None:
    turn = Turn(0, "response", raw=raw, declared=DECLARED, stop=Stop(why, why))
    (contract,) = Holder().answer([turn])
    assert contract is not None and [mismatch.message for mismatch in contract.mismatches] == words
    called = Turn(0, "tool_call", raw="{}", agent="now", declared=DECLARED)
    assert why == "malformed" or not any(one and one.is_broken for one in Holder().answer([turn, called]))


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


@pytest.fixture(scope="module")
def pool(shared: Path) -> list[Turn]:
    return contract_twins.kept_turns(shared / "corpus")


@pytest.mark.parametrize("state", STATES)
def test_a_state_is_that_of_its_fault_and_not_of_its_twin(state: str, pool: list[Turn]) -> None:
    precision, recall = contract_twins.measured(state, pool, 50)
    assert precision >= 0.99 and recall >= 0.95, (precision, recall)


def test_states_paths_and_keywords_are_those_of_jsonschema_and_the_twins_of_broken_calls_are_kept() -> None:
    found = compared(400, 31)
    assert found["differences"] == 0, found["first"]
    assert found["twins"] > 120 and found["found_to_fit"] > 80
    assert all(len(states) == 3 for states in found["states"].values()), found["states"]


def test_a_declaration_holds_for_its_own_request(tmp_path: Path) -> None:
    one, other = {"required": ["a"]}, {"required": ["b"]}
    lines = [DIALECTS[0]([("t", schema)], "t", {"b": n}) for n, schema in enumerate((one, other, one, other))]
    lines.append({"request": {"messages": [{"role": "user", "content": "x"}]}, "response": lines[0]["response"]})
    states = [contract.state for contract in contracts(tmp_path / "scoped.jsonl", lines)]
    assert states == ["schema_mismatch", "kept", "schema_mismatch", "kept", "not_declared"]


def test_the_same_declarations_are_one_object(tmp_path: Path) -> None:
    path = tmp_path / "same.jsonl"
    lines = [DIALECTS[0]([("t", {"required": ["a"]})], "t", {"n": n}) for n in range(20)]
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    declared = {id(record.declared) for record in read(path, path.name) if isinstance(record, Turn) and record.declared}
    assert len(declared) == 1
