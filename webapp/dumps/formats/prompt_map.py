"""Prompt to response maps, one JSON object of texts (MetaGPT's rsp_cache): each pair is a prompt and its response."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from webapp.dumps.base import Context, Entry
from webapp.dumps.decoding import kind_of
from webapp.dumps.formats._turns import numbered
from webapp.dumps.head import Head
from webapp.dumps.records import Problem, Record, SessionStart, Turn
from webapp.dumps.source import Source
from webapp.dumps.stream import Member, walk


class PromptMap:
    name = "prompt_map"
    shapes = "an object of prompts as keys and responses as values"

    def sniff(self, head: Head) -> int:
        """Keys that are sentences: where all values are texts, and most keys hold more than one word."""
        if head.shape != "object" or head.items or not head.members:
            return 0
        texts = all(isinstance(value, str) for value in head.members.values())
        spoken = sum(len(key.split()) > 1 for key in head.members)
        return 30 if texts and 2 * spoken > len(head.members) else 0

    def read(self, source: Source, head: Head) -> Iterator[Record]:
        yield SessionStart(source.stem, self.name)
        yield from self.turns(_pairs(source), {})

    def turns(self, entries: Iterable[Entry | Problem], context: Context) -> Iterator[Turn | Problem]:
        count = 0
        for entry in entries:
            if isinstance(entry, Problem):
                yield entry
                continue
            at, pair = entry
            prompt, response = pair.get("prompt"), pair.get("response")
            if not (isinstance(prompt, str) and isinstance(response, str)):
                yield Problem(at, "expected a prompt and a response that are texts; kept as an event")
                yield Turn(count, "event", source=pair)
            else:
                asked = Turn(0, "prompt", raw=prompt, role="user")
                answered = Turn(0, "response", raw=response, role="assistant")
                yield from numbered(count, pair, [(asked, ("prompt",)), (answered, None)])
            count += 1


plugin = PromptMap()


def _pairs(source: Source) -> Iterator[Entry | Problem]:
    for number, part in enumerate(walk(source.text(), frozenset())):
        if isinstance(part, Problem):
            yield part
        elif isinstance(part, Member) and isinstance(part.value, str):
            yield f"pair {number}", {"prompt": part.key, "response": part.value}
        elif isinstance(part, Member):
            yield Problem(f"pair {number}", f"expected a text as the response, found {kind_of(part.value)}; skipped")
