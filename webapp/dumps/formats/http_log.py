"""HTTP exchanges with providers, one a line: OpenAI, Anthropic, Google, Bedrock and Cohere bodies, streams too."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any
from urllib.parse import unquote

from webapp.dumps import grouping
from webapp.dumps.answered import reported
from webapp.dumps.base import Context, Entry, id_text, objects, text
from webapp.dumps.formats._bodies import Exchanges, exchange
from webapp.dumps.formats._streamed import assembled
from webapp.dumps.formats._turns import Found, numbered
from webapp.dumps.head import Head
from webapp.dumps.records import Problem, Record, SessionStart, Turn
from webapp.dumps.source import Source
from webapp.dumps.stream import walk
from webapp.dumps.times import moment

_PLACES = ("uri", "url")
_BODIES = ("request", "request_body", "body")
_SESSIONS = ("session_id", "conversation_id", "source_file")
_TIMES = ("timestamp", "time", "started_at", "recorded_at")
_MODEL = re.compile(r"/(?:model/([^/?]+)/|models/([^/?:]+):)")
"""where Bedrock and Google have the model: in the address"""


class HttpLog:
    name = "http_log"
    shapes = 'HTTP exchanges {"method", "uri", "request", "response"} one a line'

    def sniff(self, head: Head) -> int:
        found = [sample for sample in head.samples if isinstance(sample, dict)]
        if head.shape == "object":
            found = [head.members]
        return 90 if found and all(map(_is_exchange, found)) else 0

    def read(self, source: Source, head: Head) -> Iterator[Record]:
        if head.shape == "array":
            yield SessionStart(source.stem, self.name)
            yield from self.turns(objects(walk(source.text(), frozenset()), ""), {})
            return
        for name, entries in grouping.by_session(source, _session):
            yield SessionStart(name, self.name)
            yield from self.turns(entries, {})

    def turns(self, entries: Iterable[Entry | Problem], context: Context) -> Iterator[Turn | Problem]:
        return reported(_turns(entries))


plugin = HttpLog()


def _is_exchange(value: dict[str, Any]) -> bool:
    return any(isinstance(value.get(key), str) for key in _PLACES) and ("response" in value or "response_text" in value)


def _session(value: dict[str, Any]) -> str | None:
    return next((name for key in _SESSIONS if (name := id_text(value.get(key)))), None)


def _turns(entries: Iterable[Entry | Problem]) -> Iterator[Turn | Problem]:
    state, count = Exchanges(), 0
    for entry in entries:
        if isinstance(entry, Problem):
            yield entry
            continue
        value = entry[1]
        found = _refused(_exchanged(value, state), value)
        found = found or [(Turn(0, "event", role=text(value.get("method"))), None)]
        yield from numbered(count, value, _timed(found, value))
        count += 1


def _exchanged(value: dict[str, Any], state: Exchanges) -> list[Found]:
    """The turns of an exchange; a stream's text is put together, and has no place of its own in the entry."""
    key = next((key for key in _BODIES if isinstance(value.get(key), dict)), _BODIES[0])
    state.talk.model = _addressed(value)
    response: Any = value.get("response")
    if response is None and isinstance(value.get("response_text"), str):
        response = assembled(value["response_text"])
        found = exchange(value.get(key), response if isinstance(response, dict) else None, (key,), (), state)
        return [(turn, path if path and path[0] == key else None) for turn, path in found]
    if isinstance(response, str):
        response = assembled(response) or response
        found = exchange(value.get(key), response, (key,), ("response",), state)
        return [(turn, path if path in (("response",),) or (path and path[0] == key) else None) for turn, path in found]
    return exchange(value.get(key), response, (key,), ("response",), state)


def _addressed(value: dict[str, Any]) -> str | None:
    """The model that the address names."""
    found = next((found for key in _PLACES if (found := _MODEL.search(str(value.get(key) or "")))), None)
    return unquote(found[1] or found[2]) if found else None


def _timed(found: list[Found], value: dict[str, Any]) -> list[Found]:
    when = next((when for key in _TIMES if (when := moment(value.get(key)))), None)
    return [(replace(turn, sent_at=turn.sent_at or when), path) for turn, path in found] if when else found


def _refused(found: list[Found], value: dict[str, Any]) -> list[Found]:
    """An exchange that the provider refused ends with its message, as an error."""
    status, response = value.get("status"), value.get("response")
    if not isinstance(status, int) or status < 400 or not isinstance(response, dict):
        return found
    error = response.get("error")
    said = text(error.get("message") if isinstance(error, dict) else response.get("message"))
    kept = [pair for pair in found if pair[0].kind != "response"]
    wrote = text(error.get("failed_generation")) if isinstance(error, dict) else None
    if wrote is not None:  # Groq shows what the model wrote where that could not be read
        model = next((text(value[key].get("model")) for key in _BODIES if isinstance(value.get(key), dict)), None)
        kept.append((Turn(0, "response", raw=wrote, role="assistant", model=model, failure=said), None))
    return [*kept, (Turn(0, "error", raw=said, role="provider"), None)]
