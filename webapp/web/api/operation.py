"""What a view of the API says of itself, and the check of a query against it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import wraps
from typing import Any, TypeVar, cast

from flask import request

from webapp.store.sessions.filters import BadFilter
from webapp.web.api.shapes import Schema

View = TypeVar("View", bound=Callable[..., Any])
JSON = "application/json"
_ATTRIBUTE = "api_operation"


@dataclass(frozen=True, slots=True)
class Parameter:
    """One of a query. An empty one is as if it were not given; `several` may stand in an address more than once."""

    name: str
    schema: Schema
    about: str
    several: bool = False


@dataclass(frozen=True, slots=True)
class Content:
    """What a request brings or an answer holds: its schema by media type, and an example of it as JSON."""

    about: str
    schemas: Mapping[str, Schema]
    example: Any = None


@dataclass(frozen=True, slots=True)
class Operation:
    """A view's summary, what it takes, what it answers with by status, and when it refuses (status: why).

    Refusals that any address may answer with stand in `openapi.SHARED`. `example` is what stands in an address behind
    its path, `?limit=2`.
    """

    group: str
    summary: str
    answers: Mapping[int, Content]
    about: str = ""
    query: tuple[Parameter, ...] = ()
    body: Content | None = None
    refuses: Mapping[int, str] = field(default_factory=dict)
    example: str = ""


def json(schema: Schema, about: str = "JSON", example: Any = None) -> Content:
    return Content(about, {JSON: schema}, example)


def operation(
    group: str, summary: str, answers: Mapping[int, Content] | Content, **more: Any
) -> Callable[[View], View]:
    """Describe a view of the API, and have it refuse a query that does not fit with 400; `more` as in `Operation`."""
    stated = Operation(group, summary, {200: answers} if isinstance(answers, Content) else answers, **more)

    def decorate(view: View) -> View:
        @wraps(view)
        def checked(*args: Any, **kwargs: Any) -> Any:
            check_query(stated.query)
            return view(*args, **kwargs)

        setattr(checked, _ATTRIBUTE, stated)
        return cast(View, checked)

    return decorate


def of_view(view: Callable[..., Any]) -> Operation | None:
    """What a view says of itself; None where it says nothing."""
    return getattr(view, _ATTRIBUTE, None)


def check_query(parameters: tuple[Parameter, ...]) -> None:
    """Raises `BadFilter` for a value that cannot be meant, with the values that are taken."""
    schemas = {parameter.name: parameter.schema for parameter in parameters}
    for name, texts in request.args.lists():
        for text in filter(None, texts):
            if words := _refusal(schemas.get(name, {}), text):
                raise BadFilter(f"{name} takes {words}, not {text[:100]!r}")


def _refusal(schema: Schema, text: str) -> str | None:
    """The values that a parameter takes, in words, where `text` is none of them."""
    if "enum" in schema:
        return None if text in schema["enum"] else ", ".join(schema["enum"])
    if schema.get("type") != "integer":
        return None
    least, most = schema["minimum"], schema["maximum"]
    digits = text.removeprefix("-")
    is_number = digits.isascii() and digits.isdecimal() and len(digits) < 20
    return None if is_number and least <= int(text) <= most else _range_words(least, most)


def _range_words(least: int, most: int) -> str:
    return f"a number of {least} or more" if most == 2**63 - 1 else f"a number from {least} to {most}"
