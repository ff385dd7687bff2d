"""Single responses: JSONL of {"id", "text"}, or a plain text file that is one response."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from webapp.dumps import grouping
from webapp.dumps.base import Context, Entry, Seen, id_text, text
from webapp.dumps.head import Head
from webapp.dumps.records import BadDump, Problem, Record, SessionStart, Turn
from webapp.dumps.source import Source
from webapp.dumps.times import moment

MOST_TEXT = 64 * 1024 * 1024
_ENDINGS = (".txt", ".text", ".out", ".response")


class Responses:
    name = "responses"
    shapes = '{"id", "text"} one a line, or a .txt file that is one response'

    def sniff(self, head: Head) -> int:
        if _is_pair(head.members) or (
            head.shape == "lines" and head.all_have("text") and all(map(_is_pair, head.samples))
        ):
            return 50
        return 10 if head.filename.lower().removesuffix(".gz").removesuffix(".zst").endswith(_ENDINGS) else 0

    def read(self, source: Source, head: Head) -> Iterator[Record]:
        yield SessionStart(source.stem, self.name)
        pairs = self.sniff(head) == 50
        yield from self.turns(grouping.lines(source) if pairs else _whole(source), {})

    def turns(self, entries: Iterable[Entry | Problem], context: Context) -> Iterator[Turn | Problem]:
        count, seen = 0, Seen("id")
        for entry in entries:
            if isinstance(entry, Problem):
                yield entry
                continue
            yield from seen.again(entry[0], id_text(entry[1].get("id")))
            yield from _response(count, *entry)
            count += 1


plugin = Responses()


def _is_pair(value: Any) -> bool:
    return isinstance(value, dict) and isinstance(value.get("text"), str) and "role" not in value


def _response(count: int, at: str, value: dict[str, Any]) -> Iterator[Turn | Problem]:
    raw = value.get("text")
    if not isinstance(raw, str):
        yield Problem(at, "expected a text under the key 'text'; kept as an event")
        yield Turn(count, "event", source=value)
        return
    value["text"] = None
    yield Turn(
        entry=count,
        kind="response",
        raw=raw,
        raw_at=("text",),
        role="assistant",
        model=text(value.get("model")),
        parent=id_text(value.get("id")),
        sent_at=moment(value.get("timestamp")),
        source=value,
    )


def _whole(source: Source) -> Iterator[Entry | Problem]:
    if source.file.seek(0, 2) > MOST_TEXT:
        raise BadDump(f"a plain text of more than {MOST_TEXT // 2**20} MB", f"byte {MOST_TEXT}")
    yield "the text", {"text": "".join(source.text())}
