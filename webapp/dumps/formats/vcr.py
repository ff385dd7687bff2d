"""Cassettes of vcrpy, YAML or JSON: exchanges with providers, one after the other; other requests are passed over."""

from __future__ import annotations

import re
from itertools import zip_longest
from typing import Any

from webapp.dumps.base import Conversation, DumpHead, Entries, Format, PlacedTurn, SessionEntries, Sessions, Source
from webapp.dumps.documents import with_list
from webapp.dumps.messages.http import http_turns, of_models, recorded
from webapp.dumps.records import Problem
from webapp.dumps.yaml_values import items

_LISTS = ("interactions", "http_interactions")
"""vcrpy's, and Ruby's"""
_APART = re.compile(r"(?:\A|\n)requests:[ \t]*\r?\n\s*- (?s:.*?)\nresponses:[ \t]*\r?\n\s*- |\Arequests:[ \t]*\r?\n- ")
"""LangChain's cassettes, which list requests and responses apart"""
_YAML = re.compile(r"(?:\A|\n)((?:http_)?interactions):[ \t]*\r?\n\s*- ")


class Vcr(Format):
    shapes = "cassettes of vcrpy (interactions of request and response, YAML or JSON)"

    def sniff(self, head: DumpHead) -> int:
        if head.shape == "text":
            return 95 if _YAML.search(head.text) else 94 if _APART.search(head.text) else 0
        return 95 if any({"request", "response"} <= head.first_of(key).keys() for key in _LISTS) else 0

    def sessions(self, source: Source, head: DumpHead) -> Sessions:
        if head.shape == "text":
            match = _YAML.search(head.text)
            entries = items(source, match[1]) if match else _paired(source)
        else:
            key = next((key for key in _LISTS if key in head.items), _LISTS[0])
            _, entries = with_list(source, head, key, needed="version")
        yield SessionEntries(source.stem, of_models(entries, recorded))

    def read_entry(self, entry: dict[str, Any], conversation: Conversation) -> list[PlacedTurn]:
        return http_turns(recorded(entry), conversation)


plugin = Vcr()


def _paired(source: Source) -> Entries:
    """Requests with their responses, by their numbers; those without the other are named."""
    requests = list(items(source, "requests"))
    responses = items(source, "responses")
    for number, (request, response) in enumerate(zip_longest(requests, responses)):
        at = f"requests[{number}]"
        if isinstance(request, Problem) or isinstance(response, Problem):
            yield from (side for side in (request, response) if isinstance(side, Problem))
        elif request is None or response is None:
            yield Problem(at, f"a {'request' if response is None else 'response'} without the other side; skipped")
        else:
            yield at, {"request": request[1], "response": response[1]}
