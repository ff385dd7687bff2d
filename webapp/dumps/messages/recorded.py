"""What recorders of HTTP keep of a request and its response: {"request": {"url", "body"}, "response": {"body"}}."""

from __future__ import annotations

from typing import Any

from webapp.dumps.messages.http import HttpExchange, body_text
from webapp.dumps.values import as_object, text, whole
from webapp.dumps.yaml_items import BINARY

_WHERE = ("uri", "url")
_BODIES = ("body", "content", "text", "json", "data")
_STATUS = ("status", "status_code", "statusCode")


def is_recorded(value: dict[str, Any]) -> bool:
    """Whether an entry holds a request with its address and a response with its body."""
    request, response = as_object(value.get("request")), as_object(value.get("response"))
    addressed = any(text(request.get(key)) for key in _WHERE)
    return addressed and any(response.get(key) is not None for key in _BODIES)


def recorded(entry: dict[str, Any]) -> HttpExchange:
    """The exchange of such an entry."""
    request, response = as_object(entry.get("request")), as_object(entry.get("response"))
    url = next((request[key] for key in _WHERE if text(request.get(key))), "")
    return HttpExchange(url, body_of(request), body_of(response), _status(response))


def _status(response: dict[str, Any]) -> int | None:
    status = next((response[key] for key in _STATUS if response.get(key) is not None), None)
    return whole(status.get("code") if isinstance(status, dict) else status)


def body_of(holder: dict[str, Any]) -> Any:
    """The body of a request or a response: as it was parsed, as text, or as the base64 of bytes."""
    if holder.get("parsed_body") is not None:
        return holder["parsed_body"]
    body = next((holder[key] for key in _BODIES if key in holder), None)
    if isinstance(body, dict) and BINARY not in body:
        if isinstance(body.get("base64_string"), str):
            return body_text(body["base64_string"], "base64")
        body = body.get("string", body)
    if isinstance(body, dict) and isinstance(body.get(BINARY), str):
        return body_text(body[BINARY], "base64")
    return body
