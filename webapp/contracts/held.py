"""Holds one call, or one answer, against what its request declares."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from webapp.contracts import places
from webapp.contracts.declared import Declaration
from webapp.contracts.schemas import NotChecked, compiled
from webapp.contracts.shapes import mismatch_words, nearest, path_text
from webapp.contracts.states import Contract, Mismatch

MOST = 20
"""mismatches of a response that are told"""


class _Constant(ValueError):
    """A word that Python takes for a number, and JSON does not have."""


def _refuse(constant: str) -> Any:
    raise _Constant(constant)


_decoder = json.JSONDecoder(parse_constant=_refuse)
_CONSTANT = re.compile(r'"(?:[^"\\]|\\.)*+"|(NaN|-?Infinity)', re.DOTALL)


def held_call(raw: str | None, tool: str | None, declaration: Declaration | None, *, is_free: bool = False) -> Contract:
    """A native call's arguments. `is_free`: the tool takes text, not JSON. Without a text it has no arguments."""
    source = declaration.source if declaration else None
    try:
        value, broken = (raw, None) if is_free else _read(raw if raw and raw.strip() else "{}")
    except NotChecked as reason:
        return Contract("not_checked", tool, source, str(reason))
    if broken is not None:
        return Contract("invalid_json", tool, None, None, (broken,))
    if declaration is None or (declaration.tools is None and declaration.reason is None):
        return Contract("not_declared", tool, reason="no tools are declared in what this log has of the request")
    if declaration.reason is not None:
        return Contract("not_checked", tool, source, declaration.reason)
    within: list[str | int] = []
    if tool is None and isinstance(value, dict) and isinstance(value.get("name"), str):
        tool, (within, value) = value["name"], _inner_arguments(value)
    forbidden = _forbidden(tool, declaration.choice)
    if forbidden is not None:
        return Contract("schema_mismatch", tool, source, None, (forbidden,))
    schemas = (declaration.tools or {}).get(tool or "")
    if schemas is None:
        return _unknown(tool, declaration)
    if is_free:
        return Contract("kept", tool, source)
    return min((fitted(raw or "", value, schema, tool, source, within) for schema in schemas), key=_worse)


def _inner_arguments(call: dict[str, Any]) -> tuple[list[str | int], Any]:
    """The arguments in a call that was written whole, `{"name", "arguments"}`, and where in it they stand."""
    key = next((key for key in ("arguments", "parameters") if key in call), None)
    if key is None:
        return [], {}
    inner = call[key]
    try:
        return [key], json.loads(inner) if isinstance(inner, str) else inner
    except (ValueError, RecursionError):
        return [key], inner


def _worse(contract: Contract) -> int:
    """Of a tool that is declared twice, the declaration counts that is kept."""
    return ("kept", "not_checked", "schema_mismatch").index(contract.state)


def held_answer(
    raw: str, declaration: Declaration | None, *, has_calls: bool = False, is_refusal: bool = False
) -> Contract:
    """A model's text. `has_calls`: the same answer calls tools; then it need not be what the request asks for."""
    if declaration is None:
        return Contract("not_declared", reason="this log does not say what was asked for")
    if declaration.reason is not None:
        return Contract("not_checked", None, declaration.source, declaration.reason)
    source = declaration.source
    if not has_calls and not is_refusal and _must_call(declaration.choice):
        what = "a tool" if declaration.choice == "required" else f"`{_chosen(declaration.choice)}`"
        missing = Mismatch("$", "tool_choice", f"the request demands a call of {what}, and there is no call")
        return Contract("schema_mismatch", None, source, None, (missing,))
    if declaration.answer is None:
        return Contract("not_declared", None, reason="the request asks for no form of the answer")
    if has_calls or is_refusal:
        why = "beside a call, a text need not be the answer" if has_calls else "the model refused to answer"
        return Contract("not_checked", None, source, why)
    try:
        value, broken = _read(raw)
    except NotChecked as reason:
        return Contract("not_checked", None, source, str(reason))
    if broken is not None:
        return Contract("invalid_json", None, source, None, (broken,))
    schema = declaration.answer_schema if declaration.answer == "json_schema" else '{"type": "object"}'
    return fitted(raw, value, schema, None, source)


def _read(raw: str) -> tuple[Any, Mismatch | None]:
    """The value of a text that is JSON and nothing else, or where it is not. Raises `NotChecked`."""
    try:
        return _decoder.decode(raw), None
    except json.JSONDecodeError as error:
        return None, Mismatch("$", "json", error.msg, (min(error.pos, len(raw) - 1), min(error.pos + 1, len(raw))))
    except _Constant as constant:
        span = next((match.span() for match in _CONSTANT.finditer(raw) if match[1]), None)
        return None, Mismatch("$", "json", f"{constant} is no JSON", span)
    except RecursionError:
        raise NotChecked("nested too deep to read") from None
    except ValueError as error:  # a number of more digits than Python reads
        raise NotChecked(str(error)[:200]) from None


def _must_call(choice: Any) -> bool:
    return choice == "required" or _chosen(choice) is not None


def _chosen(choice: Any) -> str | None:
    name = choice.get("name") if isinstance(choice, dict) else None
    return name if isinstance(name, str) else None


def _forbidden(tool: str | None, choice: Any) -> Mismatch | None:
    if choice == "none":
        return Mismatch("$", "tool_choice", "the request allows no call")
    chosen = _chosen(choice)
    if chosen is not None and chosen != tool:
        return Mismatch("$", "tool_choice", f"the request demands a call of `{chosen}`, and this is one of `{tool}`")
    return None


def _unknown(tool: str | None, declaration: Declaration) -> Contract:
    if declaration.has_open_tools:
        why = "a server's tools are declared, and this log does not list them"
        return Contract("not_checked", tool, declaration.source, why)
    meant = nearest(tool or "", declaration.tools or ())
    named = f"no tool `{tool}` is declared" if tool else "the call names no tool"
    message = named + (f"; did you mean `{meant}`?" if meant else "")
    return Contract("unknown_name", tool, declaration.source, None, (Mismatch("$", "name", message),))


def fitted(
    raw: str,
    value: Any,
    schema: str | None,
    tool: str | None,
    source: str | None,
    within: Sequence[str | int] = (),
) -> Contract:
    """The value, which stands `within` the text, against a schema, as JSON text; without one anything fits."""
    if schema is None:
        return Contract("kept", tool, source)
    known = compiled(schema)
    try:
        if isinstance(known, NotChecked):
            raise known
        errors = known.errors(value, len(raw))
    except NotChecked as reason:
        return Contract("not_checked", tool, source, str(reason))
    if errors is None:
        vague = Mismatch("$", "schema", "it does not fit; the schema is too large to say where")
        return Contract("schema_mismatch", tool, source, None, (vague,))
    if not errors:
        return Contract("kept", tool, source)
    errors.sort(key=lambda error: _place_in(known.schema, error.schema_path))
    told = tuple(_mismatch(error, raw, value, known.schema, within) for error in errors[:MOST])
    return Contract("schema_mismatch", tool, source, None, told, len(errors) - len(told))


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
    there, parent = _followed(value, error.instance_path), _followed(schema, error.schema_path[:-1])
    keyword = {"oneOfNotValid": "oneOf", "oneOfMultipleValid": "oneOf", "falseSchema": "false"}.get(keyword, keyword)
    pointer = "".join(f"/{str(step).replace('~', '~0').replace('/', '~1')}" for step in error.schema_path)
    return Mismatch(path_text(path), keyword, mismatch_words(error, there, parent), _span(error, raw, path), pointer)


def _followed(value: Any, path: list[str | int]) -> Any:
    for step in path:
        try:
            value = value[step]
        except (KeyError, IndexError, TypeError):
            return None
    return value


def _span(error: Any, raw: str, path: list[str | int]) -> tuple[int, int] | None:
    try:
        if error.kind.name == "required":
            return places.closing_span(raw, path)
        if error.kind.name == "additionalProperties" and error.kind.unexpected:
            return places.key_span(raw, path, error.kind.unexpected[0])
        return places.value_span(raw, path)
    except (KeyError, IndexError, ValueError, RecursionError):  # no text: the log has the value decoded
        return None
