"""HAR archives of browsers, proxies and Polly.js: exchanges with providers, what else was fetched is passed over."""

from __future__ import annotations

import re
from typing import Any

from webapp.dumps.base import Conversation, DumpHead, Entries, Format, PlacedTurn, SessionEntries, Sessions, Source
from webapp.dumps.documents import inner_list, objects
from webapp.dumps.messages.http import HttpExchange, body_text, http_turns, speaks_of_models
from webapp.dumps.records import Problem
from webapp.dumps.values import as_list, as_object, text

_REALTIME = re.compile(r'"type":\s*"response\.|"serverContent"|"choices"|"delta"')


class Har(Format):
    shapes = 'HAR archives {"log": {"entries": […]}}'
    times = ("startedDateTime",)

    def sniff(self, head: DumpHead) -> int:
        log = head.document.get("log")
        if isinstance(log, dict):
            return 95 if isinstance(log.get("entries"), list) else 0
        return 90 if head.shape == "object" and head.mentions("log") and head.mentions("startedDateTime") else 0

    def sessions(self, source: Source, head: DumpHead) -> Sessions:
        yield SessionEntries(source.stem, _entries(source))

    def read_entry(self, entry: dict[str, Any], conversation: Conversation) -> list[PlacedTurn]:
        return http_turns(_exchange(entry), conversation)


plugin = Har()


def _entries(source: Source) -> Entries:
    for entry in objects(inner_list(source.text(), "log", "entries"), "log.entries"):
        if isinstance(entry, Problem) or speaks_of_models(_exchange(entry[1])):
            yield entry
        elif spoken_frames := sum(_is_spoken(frame) for frame in as_list(entry[1].get("_webSocketMessages"))):
            yield Problem(
                entry[0], f"a WebSocket received {spoken_frames:,} messages that may be a model's; they were left out"
            )


def _exchange(entry: dict[str, Any]) -> HttpExchange:
    request, response = as_object(entry.get("request")), as_object(entry.get("response"))
    content = as_object(response.get("content"))
    body = as_object(request.get("postData")).get("text")
    answer = body_text(content.get("text"), text(content.get("encoding")))
    return HttpExchange(text(request.get("url")) or "", body, answer, response.get("status"))


def _is_spoken(frame: Any) -> bool:
    """Whether what a WebSocket received holds words of a model, as OpenAI's and Google's realtime APIs send them."""
    data = as_object(frame).get("data")
    return as_object(frame).get("type") == "receive" and isinstance(data, str) and bool(_REALTIME.search(data))
