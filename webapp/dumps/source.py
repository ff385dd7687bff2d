"""A dump's file as UTF-8 with a record a line, and what its beginning shows, by which formats know theirs."""

from __future__ import annotations

import codecs
import json
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, BinaryIO, Literal

from webapp.dumps.budget import BadDump, Budget, current
from webapp.dumps.decoding import Damage, Decoder, kind_of
from webapp.dumps.messages.printed import unprinted
from webapp.dumps.records import Entries, Entry, Problem

CHUNK = 1024 * 1024
HEAD = 256 * 1024
"""bytes from which a format is told"""
NO_RECORD = b"! "
"""how a line begins that stands for a text without a record, in a file that was written aside"""
BLOCK = 512
ZIPS = (b"PK\x03\x04", b"PK\x05\x06")
TAR, TAR_AT = b"ustar", 257
"""How archives begin: they have no encoding, whatever their first bytes look like."""

_ENDINGS = (
    *(".gz", ".zst", ".xz", ".bz2", ".jsonl", ".ndjson", ".json", ".csv", ".tsv", ".log", ".md"),
    *(".traj", ".eval"),
)


class Cut(bytes):
    """The beginning of a line that is too long, of which no more is held."""


def too_long(at: int) -> str:
    """What is wrong with a line that is cut, which begins at byte `at`."""
    return f"{current().too_long(sys.maxsize)} (it begins at byte {at}); skipped"


@dataclass(slots=True)
class Source:
    """An open dump: `file` is seekable UTF-8 that begins at `start`; `filename` is what the sender called it.

    `problem` is set by reading: the first byte that is no UTF-8. Such bytes become lone surrogates
    (`surrogateescape`), so that they can be told and written back.
    """

    file: BinaryIO
    filename: str
    start: int = 0
    problem: Problem | None = None
    budget: Budget = field(default_factory=current)
    _problem_taken: bool = field(default=False, repr=False)

    @property
    def stem(self) -> str:
        """What a session is called that has no id of its own: the file's name without its ending.

        The folders of a path within an archive, an upload or a folder stay before it, so that two files of one name
        are two sessions; a path that is absolute or leads out says nothing of that kind.
        """
        folders, name = _placed(self.filename)
        for ending in _ENDINGS:
            name = name[: -len(ending)] if name.lower().endswith(ending) and len(name) > len(ending) else name
        return f"{folders}{name or 'dump'}"

    def plain_text(self) -> str:
        """All of a plain text. Raises `BadDump` where it is longer than is held in memory."""
        if reason := self.budget.too_long(self.file.seek(0, 2)):
            raise BadDump(f"a plain text {reason}", f"byte {self.budget.characters()}")
        return "".join(self.text())

    def text(self, limit: int | None = None) -> Iterator[str]:
        """The text from its beginning in pieces of about a megabyte (fewer bytes than `limit` in all)."""
        decoder = codecs.getincrementaldecoder("utf-8")("strict")
        self.file.seek(self.start)
        at, remaining = self.start, limit
        while data := self.file.read(CHUNK if remaining is None else min(CHUNK, remaining)):
            yield self._decode(decoder, data, at)
            at += len(data)
            remaining = None if remaining is None else remaining - len(data)
            self.file.seek(at)
        if limit is None and (rest := self._decode(decoder, b"", at, final=True)):
            yield rest

    def lines(self) -> Iterator[tuple[int, bytes]]:
        """Every line with the byte at which it begins, line ends included."""
        at, (line, end) = self.start, self.line(self.start)
        while line:
            yield at, line
            at, (line, end) = end, self.line(end)

    def line(self, at: int) -> tuple[bytes, int]:
        """The line that begins at byte `at`, and where it ends; of one that is too long a `Cut`."""
        self.file.seek(at)
        line = self.file.readline(CHUNK)
        if len(line) < CHUNK or line.endswith(b"\n"):
            return line, at + len(line)
        end = at + len(line)
        while piece := self.file.readline(CHUNK):
            end += len(piece)
            if piece.endswith(b"\n"):
                break
        if self.budget.too_long(end - at):
            return Cut(line), end
        self.file.seek(at)
        return self.file.read(end - at), end

    def tail(self, count: int) -> str:
        """The last `count` bytes as text; a character cut at its beginning becomes a lone surrogate."""
        size = self.file.seek(0, 2)
        self.file.seek(max(self.start, size - count))
        return self.file.read(count).decode("utf-8", "surrogateescape")

    def decode(self, data: bytes, at: int) -> str:
        """Bytes that begin at byte `at`, as text; what is no UTF-8 is kept and becomes the source's `problem`."""
        try:
            return data.decode("utf-8")
        except UnicodeDecodeError as error:
            self._note(at + error.start)
            return data.decode("utf-8", "surrogateescape")

    def _decode(self, decoder: codecs.IncrementalDecoder, data: bytes, at: int, final: bool = False) -> str:
        pending, _ = state = decoder.getstate()
        try:
            return decoder.decode(data, final)
        except UnicodeDecodeError as error:
            self._note(at - len(pending) + error.start)
        lenient = codecs.getincrementaldecoder("utf-8")("surrogateescape")
        lenient.setstate(state)
        text = lenient.decode(data, final)
        decoder.setstate(lenient.getstate())
        return text

    def _note(self, at: int) -> None:
        reason = "not valid UTF-8 from here on: such bytes are kept, and shown as replacement characters"
        self.problem = self.problem or Problem(f"byte {at}", reason)

    def take_problem(self) -> Iterator[Problem]:
        """The problem, once."""
        if self.problem is not None and not self._problem_taken:
            self._problem_taken = True
            yield self.problem


def _placed(filename: str) -> tuple[str, str]:
    """The folders of a relative path, with a slash behind, and the last name."""
    path = filename.replace("\\", "/").rstrip("/")
    parts = [part for part in path.split("/") if part not in ("", ".")]
    outside = path.startswith("/") or ".." in parts or ":" in (parts or [""])[0]
    folders = [] if outside else parts[:-1]
    return "".join(f"{folder}/" for folder in folders), parts[-1] if parts else ""


def entry_or_problem(at: str, value: Any) -> Entry | Problem:
    """`value` as an entry, or what is wrong with it. An SDK's object may stand there as its `str`."""
    if isinstance(value, str):
        value = unprinted(value) or value
    if isinstance(value, dict):
        return at, value
    return Problem(at, f"expected an object, found {kind_of(value)}; skipped")


def lines(source: Source) -> Entries:
    """Every line's object in order; empty lines are left out, others that are no object become problems."""
    decoder = Decoder()
    for number, (at, data) in enumerate(source.lines(), start=1):
        if data.strip():
            yield from _line(source, decoder, data, at, f"line {number}")


def _line(source: Source, decoder: Decoder, data: bytes, at: int, place: str) -> Entries:
    if isinstance(data, Cut):
        yield Problem(place, too_long(at))
        return
    try:
        value = decoder.loads(source.decode(data, at))
    except Damage as damage:
        if data.startswith(NO_RECORD):
            yield Problem(
                place, f"no record, left out: {data[len(NO_RECORD) :].decode('utf-8', 'replace').strip()[:80]!r}"
            )
            return
        cut = "" if data.endswith(b"\n") else "; the log may be cut here"
        yield Problem(place, f"{damage.reason} (character {damage.at} of the line); skipped{cut}")
        return
    yield from decoder.repeats(place)
    yield entry_or_problem(place, value)


Shape = Literal["empty", "object", "array", "lines", "text", "zip", "tar", "protobuf", "parquet", "sqlite"]


@dataclass(slots=True)
class DumpHead:
    """What the first `HEAD` bytes show.

    `shape`: one JSON object, one array, one JSON value a line, something else ("text"), or one of the binary
    shapes, of which nothing else is known but, of a zip, the `names` of its first members. `members` are the
    object's members that are no lists, those behind its long list included; `items` the first items of its lists
    by key (an array's under ""); `keys` all keys met. `samples` are an array's items or the lines' values.
    """

    filename: str
    text: str
    shape: Shape
    members: dict[str, Any] = field(default_factory=dict)
    items: dict[str, list[Any]] = field(default_factory=dict)
    lines: list[Any] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    whole: bool = False
    """whether the text is certainly all there is"""
    led: bool = False
    """whether a text leads the lines, which may be all a text: a chat whose answers are JSON"""
    unread: Problem | None = None
    """what is wrong with the first of the lines, items or members, where that is longer than the head"""

    @property
    def keys(self) -> set[str]:
        return self.members.keys() | self.items.keys()

    @property
    def told(self) -> set[str]:
        """The keys of the `objects`."""
        return {str(key) for sample in self.objects for key in sample}

    @property
    def samples(self) -> list[Any]:
        return self.lines if self.shape == "lines" else self.items.get("", [])

    @property
    def document(self) -> dict[str, Any]:
        """What the head shows of an object: its members and the first items of its lists; empty for other shapes."""
        return {**self.members, **self.items} if self.shape == "object" else {}

    @property
    def objects(self) -> list[dict[str, Any]]:
        """The samples that are objects; of a document that is an object, that alone."""
        return [self.document] if self.shape == "object" else [item for item in self.samples if isinstance(item, dict)]

    def first_of(self, key: str) -> dict[str, Any]:
        """The first object in the list under `key`; empty where there is none."""
        return next((item for item in self.items.get(key, []) if isinstance(item, dict)), {})

    def all_have(self, *keys: str) -> bool:
        """Whether there are objects (see `objects`) and each has all of `keys`."""
        return bool(self.objects) and all(key in sample for sample in self.objects for key in keys)

    def mentions(self, *keys: str) -> bool:
        """Whether the text of the head holds one of `keys` as a key, at whatever depth."""
        return any(re.search(re.escape(json.dumps(key)) + r"\s*:", self.text) for key in keys)

    def mentions_each(self, keys: list[str] | None) -> bool:
        """Whether there are keys, and the text of the head holds each, or one that stands beside it behind a `|`."""
        return bool(keys) and all(self.mentions(*key.split("|")) for key in keys or ())
