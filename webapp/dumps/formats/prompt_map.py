"""Prompt to response maps, one JSON object of texts (MetaGPT's rsp_cache): each pair is a prompt and its response."""

from __future__ import annotations

from typing import Any

from webapp.dumps.base import BadEntry, Conversation, DumpHead, Format, PlacedTurn, SessionEntries, Sessions, Source
from webapp.dumps.decoding import kind_of
from webapp.dumps.documents import Entries
from webapp.dumps.records import Problem, Turn
from webapp.dumps.stream import DocumentMember, walk


class PromptMap(Format):
    shapes = "an object of prompts as keys and responses as values"

    def sniff(self, head: DumpHead) -> int:
        """Keys that are sentences: where all values are texts, and most keys hold more than one word."""
        if head.shape != "object" or head.items or not head.members:
            return 0
        texts = all(isinstance(value, str) for value in head.members.values())
        spoken = sum(len(key.split()) > 1 for key in head.members)
        return 30 if texts and 2 * spoken > len(head.members) else 0

    def sessions(self, source: Source, head: DumpHead) -> Sessions:
        yield SessionEntries(source.stem, _pairs(source))

    def read_entry(self, entry: dict[str, Any], conversation: Conversation) -> list[PlacedTurn]:
        prompt, response = entry.get("prompt"), entry.get("response")
        if not (isinstance(prompt, str) and isinstance(response, str)):
            raise BadEntry("expected a prompt and a response that are texts")
        return [
            (Turn(0, "prompt", raw=prompt, role="user"), ("prompt",)),
            (Turn(0, "response", raw=response, role="assistant"), None),
        ]


plugin = PromptMap()


def _pairs(source: Source) -> Entries:
    for number, part in enumerate(walk(source.text(), frozenset())):
        if isinstance(part, Problem):
            yield part
        elif isinstance(part, DocumentMember) and isinstance(part.value, str):
            yield f"pair {number}", {"prompt": part.key, "response": part.value}
        elif isinstance(part, DocumentMember):
            yield Problem(f"pair {number}", f"expected a text as the response, found {kind_of(part.value)}; skipped")
