"""Recordings of nock, JavaScript's HTTP mock: a list of exchanges with providers by scope and path."""

from __future__ import annotations

import base64
from typing import Any

from webapp.dumps.base import Conversation, DumpHead, Format, PlacedTurn
from webapp.dumps.messages.http import HttpExchange, body_text, http_turns
from webapp.dumps.messages.turns import event_turns
from webapp.dumps.values import text


class Nock(Format):
    shapes = 'recordings of nock [{"scope", "path", "status", "response"}]'
    session_field = None

    def sniff(self, head: DumpHead) -> int:
        return 92 if head.shape == "array" and head.all_have("scope", "path", "response") else 0

    def read_entry(self, entry: dict[str, Any], conversation: Conversation) -> list[PlacedTurn]:
        url = f"{text(entry.get('scope')) or ''}{text(entry.get('path')) or ''}"
        response = _unpacked(entry.get("response"))
        http = HttpExchange(url, entry.get("body"), response, entry.get("status"), ("body",), ("response",))
        return http_turns(http, conversation) or event_turns(text(entry.get("method")))


plugin = Nock()


def _unpacked(response: Any) -> Any:
    """A response that was compressed, or no text, is recorded as pieces of hex, in a list or not."""
    pieces = [response] if isinstance(response, str) else response
    if not isinstance(pieces, list) or not pieces or not all(isinstance(piece, str) for piece in pieces):
        return response
    try:
        data = b"".join(map(bytes.fromhex, pieces))
    except ValueError:
        return response
    return body_text(base64.b64encode(data).decode(), "base64") or response
