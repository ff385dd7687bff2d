"""Entry points of libraries whose parser is a method or a part of one: each a function from a response to its value."""

from __future__ import annotations

from typing import Any


def _as_it_is(value: Any, annotation: Any) -> Any:
    return value


class _EveryField:
    """A signature that asks for whatever the response holds: the casts that a real one makes are not known here."""

    output_fields: Any

    def __contains__(self, name: str) -> bool:
        return True

    def __getitem__(self, name: str) -> Any:
        from types import SimpleNamespace

        return SimpleNamespace(annotation=object)

    def items(self) -> tuple[()]:
        return ()

    def keys(self) -> _AnyKeys:
        return _AnyKeys()


class _AnyKeys:
    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = object.__hash__


_EveryField.output_fields = _EveryField()


def dspy_fields(text: str) -> Any:
    """`JSONAdapter.parse` for a signature that takes every field as it is."""
    from dspy.adapters import json_adapter

    json_adapter.parse_value = _as_it_is
    return json_adapter.JSONAdapter.parse(
        json_adapter.JSONAdapter.__new__(json_adapter.JSONAdapter), _EveryField(), text
    )


def instructor_last_value(text: str) -> Any:
    """What `extract_json_from_codeblock` cuts out, decoded: the model's schema is not known here."""
    import json

    from instructor.v2.core.json import extract_json_from_codeblock

    return json.loads(extract_json_from_codeblock(text))


def pydantic_ai_text_output(text: str) -> Any:
    """The text that an output of structured type is validated from, by a schema that takes any value."""
    from pydantic import TypeAdapter
    from pydantic_ai._utils import strip_markdown_fences

    return TypeAdapter(object).validate_json(strip_markdown_fences(text))


def smolagents_blob(text: str) -> Any:
    """The object alone, without the text before it."""
    from smolagents.utils import parse_json_blob

    return parse_json_blob(text)[0]
