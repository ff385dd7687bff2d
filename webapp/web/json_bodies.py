"""The JSON body of a request: the one way in which routes of the API read it, and refuse it."""

from __future__ import annotations

import json
from typing import Any

from flask import Response, abort, jsonify, request

from webapp import jsontext
from webapp.dumps.budget import Allowance, check_json
from webapp.dumps.decoding import MAX_DEPTH, depth
from webapp.dumps.records import TooLarge

MOST_MARKS = 1_000_000
"""of one body, its commas and four for each bracket: see `check_json`"""


class BadBody(ValueError):
    """A request's body is no JSON object; the message says why, in words for whoever sent it."""


def refused(code: str, message: str, at: str | None = None, status: int = 422) -> tuple[Response, int]:
    """The API's error for a body that is JSON, and asks for what cannot be done."""
    return jsonify(error={"code": code, "message": message, "at": at}), status


def json_object(example: str) -> dict[str, Any]:
    """The body, with `jsontext.marked` numbers as they were meant; `example` shows what belongs there.

    The `Content-Type` is not asked: what does not read as JSON is refused for that. Raises `BadBody`.
    """
    value = _decoded(request.get_data(cache=False))
    if not isinstance(value, dict):
        raise BadBody(f"the body is not a JSON object like {example}")
    if depth(value) > MAX_DEPTH:
        raise BadBody(f"the body is nested deeper than {MAX_DEPTH} levels")
    body: dict[str, Any] = jsontext.unmarked(value)
    return body


def _decoded(data: bytes) -> Any:
    try:
        check_json(data, Allowance(MOST_MARKS))
        return json.loads(data)
    except TooLarge as large:
        abort(413, f"The body is too large: {large.reason}.")
    except RecursionError:
        raise BadBody(f"the body is nested deeper than {MAX_DEPTH} levels") from None
    except json.JSONDecodeError as error:
        raise BadBody(f"the body is not JSON: {error.msg} (line {error.lineno}, column {error.colno})") from None
    except UnicodeDecodeError as error:
        raise BadBody(f"the body is not JSON: byte {error.start} is no {error.encoding}") from None
    except ValueError:
        raise BadBody("the body contains a number of more than 4300 digits") from None
