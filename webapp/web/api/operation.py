"""What a route of the API states for its description: parameters, bodies, answers; and how bodies are read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
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
from webapp.web.api.shapes import TEXT, Schema, one_of, shape, whole

View = TypeVar("View", bound=Callable[..., Any])
Stated = dict[str, Any]
"""a part of the description, as OpenAPI writes it"""
EMPTY: Schema = {"const": ""}
JSON = "application/json"
_ATTRIBUTE = "api_operation"


def parameter(name: str, schema: Schema, about: str, *, several: bool = False) -> Stated:
    """One of a query. An empty one is as if it were not given; `several` may stand in an address more than once."""
    may_be_empty = TEXT if schema == TEXT else {"anyOf": [schema, EMPTY]}
    value = {"type": "array", "items": may_be_empty} if several else may_be_empty
    return {"name": name, "in": "query", "description": about, "schema": value}


def content(about: str, kinds: Mapping[str, Schema], example: Any = None) -> Stated:
    """What a request brings or an answer holds: its schema by media type, and an example of it as JSON."""
    more = {} if example is None else {"example": example}
    return {"description": about, "content": {kind: {"schema": schema, **more} for kind, schema in kinds.items()}}


def json(notation: str, about: str, example: Any = None) -> Stated:
    """JSON of a shape, in the notation of `shapes.toml`."""
    return content(about, {JSON: shape(notation)}, example)


def operation(
    group: str,
    summary: str,
    answers: Mapping[int, Stated] | Stated,
    *,
    about: str = "",
    query: Sequence[Stated] = (),
    body: Stated | None = None,
    refuses: Mapping[int, str] | None = None,
    example: str = "",
) -> Callable[[View], View]:
    """Describe a view of the API, and have it refuse a query that does not fit with 400.

    It answers by status, and refuses by status and why; refusals that any address may answer with stand in
    `openapi.SHARED`. `example` is what stands in an address behind its path, `?limit=2`.
    """
    by_status: Any = {200: answers} if "content" in answers else answers
    refused_by_status = {status: json("Error", words) for status, words in (refuses or {}).items()}
    stated: Stated = {
        "tags": [group],
        "summary": summary,
        **({"description": about} if about else {}),
        "parameters": list(query),
        **({"requestBody": body | {"required": True}} if body else {}),
        "responses": {str(status): said for status, said in {**by_status, **refused_by_status}.items()},
    }

    def decorate(view: View) -> View:
        @wraps(view)
        def checked(*args: Any, **kwargs: Any) -> Any:
            check_query(query)
            return view(*args, **kwargs)

        setattr(checked, _ATTRIBUTE, (stated, example))
        return cast(View, checked)

    return decorate


def of_view(view: Callable[..., Any]) -> tuple[Stated, str] | None:
    """What a view says of itself, as OpenAPI has it, and its example; None where it says nothing."""
    return getattr(view, _ATTRIBUTE, None)


def check_query(parameters: Iterable[Stated]) -> None:
    """Raises `BadFilter` for a value that cannot be meant, with the values that are taken."""
    schemas = {parameter["name"]: parameter["schema"] for parameter in parameters}
    for name, texts in request.args.lists():
        for schema in schemas.get(name, {}).get("anyOf", ())[:1]:
            for text in filter(None, texts):
                if words := _refusal(schema, text):
                    raise BadFilter(f"{name} takes {words}, not {text[:100]!r}")


def _refusal(schema: Schema, text: str) -> str | None:
    """The values that a parameter takes, in words, where `text` is none of them."""
    if "enum" in schema:
        return None if text in schema["enum"] else ", ".join(schema["enum"])
    least, most = schema["minimum"], schema["maximum"]
    digits = text.removeprefix("-")
    is_number = digits.isascii() and digits.isdecimal() and len(digits) < 20
    if is_number and least <= int(text) <= most:
        return None
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


def _of_filter(name: str, filter_: FilterWords) -> Stated:
    if name in SWITCHES:
        return parameter(name, SWITCH, f"1: {filter_.about}")
    if name in MORE_THAN:
        return parameter(name, whole(0, MOST), filter_.about)
    return parameter(name, one_of(filter_.takes) if filter_.takes else TEXT, filter_.about)


FILTERS = tuple(_of_filter(name, described) for name, described in DESCRIBED.items())
"""those of the list, as docs/filters.md has them"""

AFTER = parameter("after", TEXT, "`next` of the previous page: returns the rows after it")
LIMIT = parameter("limit", whole(1), f"rows of a page; more than {MOST_ROWS} is {MOST_ROWS}")


def limit_of_request(default: int = 50) -> int:
    """How many rows the address asks for, of those that a page may have."""
    return max(1, min(MOST_ROWS, request.args.get("limit", default, type=int)))


IDS = parameter("ids", TEXT, "a session's id or key", several=True)
QUEUE = (
    parameter("queue", one_of(KINDS), "the responses of a queue, as on the page Labels"),
    parameter("size", whole(0, LARGEST_SAMPLE), "of a sample: how many"),
    parameter("seed", whole(0, 2**31), "of a sample: what it is drawn by"),
    parameter("view", TEXT, "of a queue under filters: these, as a query string"),
    parameter("group", TEXT, "of a failure group's queue: its key"),
)
"""which queue, on pages and in exports"""
REDACTION = (
    parameter("redact", TEXT, "a regular expression (RE2) whose matches are masked", several=True),
    parameter("redact_key", TEXT, "keys of JSON whose values are masked, comma-separated", several=True),
    parameter("redact_secrets", SWITCH, "1: secrets of known shapes are masked"),
    parameter("show", SWITCH, "1: to look at in the browser, no download"),
)
