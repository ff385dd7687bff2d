"""What a route of the API states for its description: parameters, bodies, answers; and how bodies are read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import wraps
from json import JSONDecodeError
from json import loads as decode_json
from typing import Any, TypeVar, cast

from flask import Response, abort, jsonify, request

from webapp import jsontext
from webapp.dumps.budget import Allowance, TooLarge, check_json
from webapp.dumps.decoding import MAX_DEPTH
from webapp.refusals import BadInput
from webapp.store.labels.queue_spec import KINDS, LARGEST_SAMPLE
from webapp.store.sessions.filters import DESCRIBED, MORE_THAN, MOST, SWITCHES, BadFilter, FilterWords
from webapp.web.api.shapes import TEXT, Content, Schema, one_of, shape, whole

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


def json(notation: str, about: str, example: Any = None) -> Content:
    """JSON of a shape, in the notation of `shapes.toml`."""
    return Content(about, {JSON: shape(notation)}, example)


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


MOST_MARKS = 1_000_000
"""of one body, its commas and four for each bracket: see `check_json`"""


class BadBody(BadInput):
    """A request's body is no JSON object; the message says why, in words for whoever sent it."""

    status, code = 422, "bad_body"


def refused(code: str, message: str, at: str | None = None, status: int = 422) -> tuple[Response, int]:
    """The API's error for a body that is JSON, and asks for what cannot be done."""
    return jsonify(error={"code": code, "message": message, "at": at}), status


def json_object(example: str) -> dict[str, Any]:
    """The body, with `jsontext.marked` numbers as they were meant; `example` shows what belongs there.

    The `Content-Type` is not asked: what does not read as JSON is refused for that. Raises `BadBody`.
    """
    try:
        value = object_of(request.get_data(cache=False), MOST_MARKS, f" like {example}")
    except TooLarge as large:
        abort(413, f"The body is too large: {large.reason}.")
    body: dict[str, Any] = jsontext.unmarked(value)
    return body


def object_of(data: bytes, most_marks: int, example: str = "") -> dict[str, Any]:
    """The JSON object that a body is. Raises `BadBody`, and `TooLarge` for more marks than `most_marks`."""
    value = _decoded(data, most_marks)
    if not isinstance(value, dict):
        raise BadBody(f"the body is not a JSON object{example}")
    if jsontext.depth(value) > MAX_DEPTH:
        raise BadBody(f"the body is nested deeper than {MAX_DEPTH} levels")
    return value


def _decoded(data: bytes, most_marks: int) -> Any:
    check_json(data, Allowance(most_marks))
    try:
        return decode_json(data)
    except RecursionError:
        raise BadBody(f"the body is nested deeper than {MAX_DEPTH} levels") from None
    except JSONDecodeError as error:
        raise BadBody(f"the body is not JSON: {error.msg} (line {error.lineno}, column {error.colno})") from None
    except UnicodeDecodeError as error:
        raise BadBody(f"the body is not JSON: byte {error.start} is no {error.encoding}") from None
    except ValueError:
        raise BadBody("the body contains a number of more than 4300 digits") from None


SWITCH = one_of(("0", "1"))
MOST_ROWS = 500


def _of_filter(name: str, filter_: FilterWords) -> Parameter:
    if name in SWITCHES:
        return Parameter(name, SWITCH, f"1: {filter_.about}")
    if name in MORE_THAN:
        return Parameter(name, whole(0, MOST), filter_.about)
    return Parameter(name, one_of(filter_.takes) if filter_.takes else TEXT, filter_.about)


FILTERS = tuple(_of_filter(name, described) for name, described in DESCRIBED.items())
"""those of the list, as docs/filters.md has them"""

AFTER = Parameter("after", TEXT, "`next` of the previous page: returns the rows after it")
LIMIT = Parameter("limit", whole(1), f"rows of a page; more than {MOST_ROWS} is {MOST_ROWS}")


def limit_of_request(default: int = 50) -> int:
    """How many rows the address asks for, of those that a page may have."""
    return max(1, min(MOST_ROWS, request.args.get("limit", default, type=int)))


IDS = Parameter("ids", TEXT, "a session's id or key", several=True)
QUEUE = (
    Parameter("queue", one_of(KINDS), "the responses of a queue, as on the page Labels"),
    Parameter("size", whole(0, LARGEST_SAMPLE), "of a sample: how many"),
    Parameter("seed", whole(0, 2**31), "of a sample: what it is drawn by"),
    Parameter("view", TEXT, "of a queue under filters: these, as a query string"),
    Parameter("group", TEXT, "of a failure group's queue: its key"),
)
"""which queue, on pages and in exports"""
REDACTION = (
    Parameter("redact", TEXT, "a regular expression (RE2) whose matches are masked", several=True),
    Parameter("redact_key", TEXT, "keys of JSON whose values are masked, comma-separated", several=True),
    Parameter("redact_secrets", SWITCH, "1: secrets of known shapes are masked"),
    Parameter("show", SWITCH, "1: to look at in the browser, no download"),
)
