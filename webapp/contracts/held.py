"""Holds responses against what their requests declare: a call, an answer, or all that a model wrote at a time."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, Protocol

from webapp.contracts.contract import Contract, Declaration, Mismatch, State
from webapp.contracts.schemas import NotChecked, compiled
from webapp.contracts.shapes import json_words, mismatch_words, nearest, path_text, takes_keys
from webapp.jsontext import on_any_python

MOST, _MOST_READY = 20, 256
"""mismatches of a response that are told, and declarations that are kept ready"""
_NOTHING, _OF_KEYS = Declaration(), ("required", "additionalProperties")


def _refuse(constant: str) -> Any:
    """For a word that Python takes for a number, and JSON does not have."""
    raise json.JSONDecodeError(f"{constant} is no JSON", "", -1)


_decoder = json.JSONDecoder(parse_constant=_refuse)
_decode = json.JSONDecoder(strict=False).raw_decode
_SPACE = re.compile(r"[ \t\n\r]*")
_KEY_ENDS = re.compile(r'"[ \t\n\r]*:')
_CONSTANT = re.compile(r'"(?:[^"\\]|\\.)*+"|(NaN|-?Infinity)', re.DOTALL)
Span = tuple[int, int]


class ModelTurn(Protocol):
    """What is asked of a turn: `webapp.dumps.Turn` has it, and so has a stored one."""

    kind: Any
    raw: str | None
    agent: str | None
    declared: dict[str, Any] | None
    stop: Any
    arguments: Any


class Holder:
    """Holds answers against their own request's declarations, else against those that were given with the file."""

    def __init__(self, declared: Mapping[str, Any] | None = None) -> None:
        self._given = None if declared is None else Declaration.of(declared, "file")
        self._ready: dict[int, tuple[dict[str, Any], Declaration]] = {}

    def answer(self, turns: Sequence[ModelTurn]) -> list[Contract | None]:
        """The contract of each turn of one answer; None for what no model wrote.

        What a text must be depends on the calls beside it.
        """
        has_calls = any(turn.kind == "tool_call" and turn.arguments != "provider" for turn in turns)
        return [self._of(turn, has_calls) for turn in turns]

    def _of(self, turn: ModelTurn, has_calls: bool) -> Contract | None:
        if turn.kind == "tool_call" and turn.arguments == "provider":
            return Contract("not_declared", turn.agent, reason="the provider runs this tool, and declares it")
        declaration, why = self._declaration(turn.declared), turn.stop and turn.stop[0]
        if not turn.raw and turn.kind in ("tool_call", "response") and why == "malformed":
            return _broken(Contract("kept", turn.agent), "json", "the provider could not read the call", "invalid_json")
        if turn.kind == "tool_call":
            return held_call(turn.raw, turn.agent, declaration, is_free=turn.arguments == "free")
        if turn.kind != "response":
            return None
        is_without_call = why == "tool_call" and not has_calls
        if is_without_call and declaration and declaration.tools and declaration.source == "request":
            return _broken(Contract("kept"), "tool_choice", "it stopped to call a tool, and there is no call")
        return held_answer(turn.raw or "", declaration, has_calls=has_calls, is_refusal=why == "refused")

    def _declaration(self, declared: dict[str, Any] | None) -> Declaration | None:
        if declared is None:
            return self._given
        ready = self._ready.get(id(declared))
        if ready is not None:  # the object is held here, so that nothing else has its id
            return ready[1]
        declaration = Declaration.of(declared, "file" if declared.get("source") == "file" else "request")
        if declaration.tools is None and self._given is not None:
            file = self._given
            declaration = replace(declaration, source=file.source, tools=file.tools, has_open_tools=file.has_open_tools)
        if len(self._ready) >= _MOST_READY:
            self._ready.clear()
        self._ready[id(declared)] = (declared, declaration)
        return declaration


def held_call(raw: str | None, tool: str | None, declaration: Declaration | None, *, is_free: bool = False) -> Contract:
    """A native call's arguments. `is_free`: the tool takes text, not JSON. Without a text it has no arguments."""
    terms = declaration or _NOTHING
    try:
        value, broken = (raw, None) if is_free else _read(raw if raw and raw.strip() else "{}")
    except NotChecked as reason:
        return Contract("not_checked", tool, terms.source, str(reason))
    if broken is not None:
        return Contract("invalid_json", tool, None, None, (broken,))
    if terms.tools is None:
        return Contract("not_declared", tool, reason="no tools are declared in what this log has of the request")
    within: list[str | int] = []
    if tool is None and isinstance(value, dict) and isinstance(value.get("name"), str):
        tool, (within, value) = value["name"], _inner_arguments(value)
    contract = Contract("kept", tool, terms.source)
    if terms.allowed is not None and tool not in terms.allowed:
        verb = "demands a call of" if terms.must_call else "allows calls of"
        words = f"{verb} {_any_of(terms.allowed)}, and this is one of `{tool}`" if terms.allowed else "allows no call"
        return _broken(contract, "tool_choice", f"the request {words}")
    schemas = terms.tools.get(tool or "")
    if schemas is None and terms.has_open_tools:
        return _unchecked(contract, "a server's tools are declared, and this log does not list them")
    if schemas is None:
        meant = nearest(tool or "", terms.tools)
        words = f"no tool `{tool}` is declared" if tool else "the call names no tool"
        return _broken(contract, "name", words + (f"; did you mean `{meant}`?" if meant else ""), "unknown_name")
    if is_free:
        return contract
    worse = ("kept", "not_checked", "schema_mismatch")  # of a tool that is declared twice, that counts which is kept
    contracts = (fitted(raw or "", value, schema, contract, within) for schema in schemas)
    best = min(contracts, key=lambda contract: worse.index(contract.state))
    for first in best.mismatches[:1]:
        if first.keyword in _OF_KEYS and (meant := takes_keys(value, terms.tools)) not in (None, tool):
            told = replace(first, message=f"{first.message}; `{meant}` takes such arguments")
            best = replace(best, mismatches=(told, *best.mismatches[1:]))
    return _with_what_is_lost(best, raw, value)


def _any_of(names: Sequence[str]) -> str:
    return " or ".join(f"`{name}`" for name in names[:5])


def _broken(contract: Contract, keyword: str, words: str, state: State = "schema_mismatch") -> Contract:
    return replace(contract, state=state, mismatches=(Mismatch("$", keyword, words),))


def _unchecked(contract: Contract, reason: object) -> Contract:
    return replace(contract, state="not_checked", reason=str(reason))


def _inner_arguments(call: dict[str, Any]) -> tuple[list[str | int], Any]:
    """The arguments in a call that was written whole, `{"name", "arguments"}`, and where in it they stand."""
    key = next((key for key in ("arguments", "parameters") if key in call), None)
    if key is None:
        return [], {}
    try:
        return [key], json.loads(call[key]) if isinstance(call[key], str) else call[key]
    except (ValueError, RecursionError):
        return [key], call[key]


def held_answer(
    raw: str, declaration: Declaration | None, *, has_calls: bool = False, is_refusal: bool = False
) -> Contract:
    """A model's text. `has_calls`: the same answer calls tools; then it need not be what the request asks for."""
    if declaration is None:
        return Contract("not_declared", reason="this log does not say what was asked for")
    contract = Contract("kept", source=declaration.source)
    if declaration.must_call and not has_calls and not is_refusal:
        tools = _any_of(declaration.allowed or ()) or "a tool"
        return _broken(contract, "tool_choice", f"the request demands a call of {tools}, and there is no call")
    if not declaration.is_json:
        return Contract("not_declared", reason="the request asks for no form of the answer")
    if has_calls or is_refusal:
        return _unchecked(
            contract, "beside a call, a text need not be the answer" if has_calls else "the model refused to answer"
        )
    try:
        value, broken = _read(raw)
    except NotChecked as reason:
        return _unchecked(contract, reason)
    if broken is not None:
        return replace(contract, state="invalid_json", mismatches=(broken,))
    return _with_what_is_lost(fitted(raw, value, declaration.answer_schema, contract), raw, value)


def _read(raw: str) -> tuple[Any, Mismatch | None]:
    """The value of a text that is JSON and nothing else, or where it is not. Raises `NotChecked`."""
    try:
        return _decoder.decode(raw), None
    except json.JSONDecodeError as raised:
        error = on_any_python(raised)
        span: Span | None = (min(error.pos, len(raw) - 1), min(error.pos + 1, len(raw))) if raw else None
        if error.pos < 0:
            span = next((match.span() for match in _CONSTANT.finditer(raw) if match[1]), None)
        return None, Mismatch("$", "json", json_words(raw, error), span)
    except RecursionError:
        raise NotChecked("nested too deep to read") from None
    except ValueError as error:  # a number of more digits than Python reads
        raise NotChecked(str(error)[:200]) from None


def fitted(raw: str, value: Any, schema: str | None, kept: Contract, within: Sequence[str | int] = ()) -> Contract:
    """`kept`, or how the value, which stands `within` the text, does not fit a schema, as JSON text; None takes all."""
    if schema is None:
        return kept
    validator = compiled(schema)
    if isinstance(validator, NotChecked):
        return _unchecked(kept, validator)
    try:
        errors = validator.errors(value, len(raw))
    except NotChecked as reason:
        return _unchecked(kept, reason)
    if errors is None:
        return _broken(kept, "schema", "it does not fit; the schema is too large to say where")
    if not errors:
        return kept
    errors.sort(key=lambda error: _place_in(validator.schema, error.schema_path))
    mismatches = tuple(_mismatch(error, raw, value, validator.schema, within) for error in errors[:MOST])
    return replace(kept, state="schema_mismatch", mismatches=mismatches, more=len(errors) - len(mismatches))


def _with_what_is_lost(contract: Contract, raw: str | None, value: Any) -> Contract:
    """The contract of a text that is JSON; where it is kept, with the key that an object has more than once."""
    if contract.state != "kept" or (isinstance(value, dict) and len(_KEY_ENDS.findall(raw or "")) == len(value)):
        return contract  # each colon behind a quote belongs to a key of this object
    twice: list[str] = []

    def noted(members: list[tuple[str, Any]]) -> None:
        keys = Counter(key for key, _ in members)
        twice.extend(key for key, count in keys.items() if count > 1)

    with suppress(RecursionError):  # that many levels are read without a look at each
        json.loads(raw or "{}", object_pairs_hook=noted)
    words = f"the key {json.dumps(twice[0], ensure_ascii=False)[:80]} stands twice" if twice else ""
    return replace(contract, reason=f"{words}, and the last value counts") if twice else contract


def _place_in(schema: Any, path: list[str | int]) -> list[int]:
    """Sorts errors as the schema is written, however its validator goes through it."""
    places = []
    for step in path:
        places.append(step if isinstance(step, int) else list(schema).index(step) if step in schema else 0)
        schema = _followed(schema, [step])
        if not isinstance(schema, dict | list):
            break
    return places


def _mismatch(error: Any, raw: str, value: Any, schema: Any, within: Sequence[str | int]) -> Mismatch:
    path, keyword = [*within, *error.instance_path], error.kind.name
    instance, parent = _followed(value, error.instance_path), _followed(schema, error.schema_path[:-1])
    keyword = {"oneOfNotValid": "oneOf", "oneOfMultipleValid": "oneOf", "falseSchema": "false"}.get(keyword, keyword)
    pointer = "".join(f"/{str(step).replace('~', '~0').replace('/', '~1')}" for step in error.schema_path)
    return Mismatch(path_text(path), keyword, mismatch_words(error, instance, parent), _span(error, raw, path), pointer)


def _followed(value: Any, path: list[str | int]) -> Any:
    for step in path:
        try:
            value = value[step]
        except (KeyError, IndexError, TypeError):
            return None
    return value


def _span(error: Any, raw: str, path: list[str | int]) -> Span | None:
    """The value; the brace that closes an object which lacks a key; or the first key that is not declared."""
    unexpected = error.kind.unexpected[:1] if error.kind.name == "additionalProperties" else []
    try:
        key, (start, end) = _key_and_value(raw, [*path, *unexpected])
    except (KeyError, IndexError, ValueError, RecursionError):  # no text: the log has the value decoded
        return None
    return key if unexpected else (end - 1 if error.kind.name == "required" else start, end)


def _key_and_value(text: str, path: Sequence[str | int]) -> tuple[Span, Span]:
    """The span of the value at `path`, and before it that of its key with the quotes, empty where it has none.

    `text` is JSON; raises `KeyError` where the path does not lead into it.
    """
    at = _skip(text, 0)
    key = at, at
    for step in path:
        key, at = _step(text, at, step)
    return key, (at, _decode(text, at)[1])


def _step(text: str, start: int, step: str | int) -> tuple[Span, int]:
    """The span of the key, and where the value begins, of a step into what begins at `start`.

    Of a key that comes twice, the last counts, as for whoever reads the value.
    """
    at, places = _skip(text, start + 1), dict[str | int, tuple[Span, int]]()
    while text[start] in "{[" and text[at] not in "}]":
        name, key = len(places), (at, at)
        if text[start] == "{":
            name, end = _decode(text, at)
            key, at = (at, end), _skip(text, _skip(text, end) + 1)
        places[name] = key, at
        at = _skip(text, _decode(text, at)[1])
        at = _skip(text, at + 1) if text[at] == "," else at
    return places[step]


def _skip(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return match.end() if match else at
