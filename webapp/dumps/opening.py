"""Opens a dump as UTF-8 text with a record a line, whatever its encoding and however its records are written."""

from __future__ import annotations

import codecs
import io
import re
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import chain, islice
from pathlib import Path
from typing import Any, BinaryIO

from webapp import jsontext
from webapp.dumps import loose_json, text_records
from webapp.dumps.budget import BadDump, current
from webapp.dumps.decoding import json_or_none
from webapp.dumps.first_look import look
from webapp.dumps.messages.langchain import SERVED, is_message, served_messages
from webapp.dumps.messages.printed import printed_records
from webapp.dumps.messages.stream_kinds import is_event, wrapped_event
from webapp.dumps.records import Problem
from webapp.dumps.source import BLOCK, CHUNK, HEAD, NO_RECORD, TAR, TAR_AT, ZIPS, DumpHead, Source
from webapp.dumps.values import UNNAMED, WORDS, are_samples, in_turn, is_text_pair, names_in

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_OLD_ENDS = re.compile(r"[^\r\n\0]*+\r[^\n\0]*+\Z")
"""lines that end as those of old Macs"""
_DOCUMENT_LISTS = re.compile(r"\s*\[[ \t]*\r?\n[\s\S]*?\n\][ \t]*(?:\r?\n)+\[[ \t]*\r?\n")
_LISTS = re.compile(r"\s*+\[\s*+(?:(?:\[\s*+)++\{|\{.*\][ \t\r]*+\n\s*+\[\s*+\{)")
"""lists of objects, in a list or one a line"""
_TEXT_LISTS = re.compile(
    r"\s*+\[\s*+(?:\[\s*+\"(?:[^\"\\]|\\.){1,4000}+\"\s*+,\s*+(?:\"|null\s*+\])|\"\w[^\s\"]* \w[^\n]*\]\s*\n\[\")"
)
"""lists of texts: pairs, as Gradio keeps a chat, or a chat each"""
_YAML = re.compile(
    r"(?:---[ \t]*\r?\n|#[^\n]*\n|\s)*(?:evalId: [^\n]*\nresults:[ \t]*\r?\n|"
    r"(?:[\w-]{1,60}:[ \t]+\S[^\n]*\n)*(?!interactions|http_interactions|requests|responses)"
    r"[\w-]{1,60}:[ \t]*\r?\n[ \t]*- [\w\"'-]{1,60}:[ \t]"
    r"|- [\w\"'][\w \"'.-]{0,60}:(?:[ \t][^\n]*)?\r?\n  [ \t]*[\w\"'-]"
    r")|\s*+---[ \t]*\r?\n(?:[\w-]{1,60}:[^\n]*+\n(?:[ \t]++[^\n]*+\n)*+)++---[ \t]*\r?\n[\w-]{1,60}:[ \t]"
)
_PAPERS = (".md", ".rst", ".py", ".ipynb")
"""in which what Python prints is an example"""
_OF_CLASS = re.compile(r"[A-Z]\w{0,80}+\(\s{0,40}+\w{1,40}+=|^\w{1,40}+=(?:None|['\"\[])", re.M)
_OF_DICT = re.compile(r"\s*(?:[\[{(]\s*){1,3}'[^'\n]{1,60}': ")
_LOGGED = re.compile(r"^\[?\d{4}-\d\d-\d\d[T ]\d\d:|^\[?(?:DEBUG|INFO|WARN(?:ING)?|ERROR)\b", re.M)
_TELLING = {"choices", "candidates", "output", "author", "role", "type", "kind"}
"""keys that only records of a dialogue have beside what was said"""
_PAIRS = ({"event", "data"}, {"messages", "response"}, {"prompt", "response"}, {"prompt", "completion"})
_MESSAGE = frozenset(WORDS["who"].split())


class _CountedFile(io.FileIO):
    """A file of which every reading says to `on_progress` how many bytes it took."""

    def __init__(self, path: Path, on_progress: Callable[[int], None]) -> None:
        super().__init__(path, "rb")
        self.on_progress = on_progress

    def readinto(self, buffer: Any) -> int | None:
        count = super().readinto(buffer)
        self.on_progress(count or 0)
        return count


@contextmanager
def opened(
    path: Path, filename: str, on_progress: Callable[[int], None] | None = None, *, is_text: bool = False
) -> Iterator[Source]:
    """Open `path` for reading; UTF-16 and UTF-32 (by mark, or by the zeros of a JSON text) are recoded aside.

    So are records that stand none a line, unless the dump `is_text`, whatever it holds.

    `on_progress` gets the count of each piece read from disk, what is read twice included; what it raises comes out.
    """
    budget = current(path.stat().st_size)
    counted = None if on_progress is None else io.BufferedReader(_CountedFile(path, on_progress), 128 * 1024)
    with counted or path.open("rb") as file:
        mark, encoding = _encoding(file.read(BLOCK))
        file.seek(mark)
        if encoding == "utf-8":
            source = Source(file, filename, start=mark, budget=budget)
            yield from (source,) if is_text else _as_it_is_read(source)
            return
        with tempfile.TemporaryFile() as recoded:
            problem = _recode(file, recoded, encoding)
            source = Source(recoded, filename, problem=problem, budget=budget)
            yield from (source,) if is_text else _as_it_is_read(source)


def head_of(path: Path, filename: str) -> DumpHead:
    """The head of the dump at `path`."""
    with opened(path, filename) as source:
        return look(source)


def _as_it_is_read(source: Source) -> Iterator[Source]:
    """The source, or what was written aside of it where it holds records and none a line."""
    if (records := _records(source)) is None:
        yield source
        return
    with tempfile.TemporaryFile() as lines:
        lines.writelines(record if isinstance(record, bytes) else _line(record) for record in records)
        yield Source(lines, source.filename, problem=source.problem, budget=source.budget)


def _encoding(head: bytes) -> tuple[int, str]:
    """The length of the byte order mark and the encoding; without a mark as RFC 4627, 3 tells them apart."""
    if head[TAR_AT : TAR_AT + len(TAR)] == TAR or head.startswith(ZIPS):
        return 0, "utf-8"
    head = head[:4]
    for mark, encoding in _MARKS:
        if head.startswith(mark):
            return len(mark), encoding
    if len(head) == 4 and head[0] and head[1] == 0:
        return 0, "utf-16-le" if head[2] else "utf-32-le"
    if len(head) == 4 and head[0] == 0 and head[3]:
        return 0, "utf-16-be" if head[1] else "utf-32-be"
    return 0, "utf-8"


def _recode(file: BinaryIO, out: BinaryIO, encoding: str) -> Problem | None:
    """Write `file` to `out` as UTF-8; a lone surrogate becomes its JSON escape, which means the same."""
    decoder = codecs.getincrementaldecoder(encoding)("surrogatepass")
    at = file.tell()
    try:
        while data := file.read(CHUNK):
            out.write(decoder.decode(data).encode("utf-8", "backslashreplace"))
            at += len(data)
        decoder.decode(b"", True)
    except UnicodeDecodeError as error:
        return Problem(f"byte {at}", f"not valid {encoding.upper()} ({error.reason}); the rest was not read")
    return None


def _records(source: Source) -> Iterable[Any] | None:
    """The records of a text that has none a line, or their lines as bytes; None for other dumps."""
    source.file.seek(source.start)
    head = source.file.read(HEAD).decode("utf-8", "replace")
    for begins, read in _READERS:
        if begins.match(head) and (records := read(source)) is not None:
            return records
    if not source.filename.endswith(_PAPERS) and (printed := _printed(head)) is not None:
        return printed
    return text_records.table_rows(source, head)


def _whole(source: Source) -> str | None:
    """All of a text that is no longer than one item may be."""
    if current().too_long(source.file.seek(0, 2) - source.start):
        return None
    source.file.seek(source.start)
    return source.file.read().decode("utf-8", "surrogateescape")


def _with_new_ends(source: Source) -> Iterable[Any] | None:
    """The records of a text whose lines end in a lone CR, or its lines as they are written today."""
    if (written := _whole(source)) is None:
        return None
    new = Source(io.BytesIO(written.replace("\r", "\n").encode("utf-8", "surrogateescape")), source.filename)
    records = _records(new)
    source.problem = source.problem or new.problem
    new.file.seek(0)
    return new.file if records is None else records


def _of_whole(read: Callable[[str], Iterable[Any] | None]) -> Callable[[Source], Iterable[Any] | None]:
    """Reads all of a text at once; a longer one is left to the formats, which say so."""
    return lambda source: None if (written := _whole(source)) is None else read(written)


def _joined_lists(source: Source) -> Iterator[Any]:
    """What `loose_json.joined` makes of lists."""
    with tempfile.TemporaryFile() as lines:
        lines.writelines(loose_json.joined(source))
        yield from _of_lists(Source(lines, source.filename))


def _of_lists(source: Source) -> Iterator[Any]:
    """Lists of messages as one record each; the items of other lists one by one."""
    return chain.from_iterable(map(_of_list, loose_json.listed(source)))


def _of_list(value: Any) -> Iterator[Any]:
    objects = [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
    if any("langgraph_node" in item for item in objects[1:2]) and is_message(objects[0]):  # with what is known of it
        yield objects[0]
    elif any(item.keys() & _MESSAGE for item in objects):
        yield {"messages": value}
    elif isinstance(value, list) and all(isinstance(item, list) for item in value):
        yield from chain.from_iterable(map(_of_list, value))
    elif value is not None:
        yield from value if isinstance(value, list) else [value]


def _text_lists(source: Source) -> Iterator[Any] | None:
    """What was asked and answered, of lists of two texts, or a chat of each list; None where nobody speaks in them."""
    begun = list(islice(values := loose_json.listed(source), 20))
    every, first = chain(begun, values), next(iter(begun), None)
    if all(map(are_samples, begun)):  # as bigcode-evaluation-harness keeps them
        return ({"completions": one} for one in every)
    names = names_in(begun, {}, may_repeat=True)
    if names and all(name[0].isupper() and " " not in name for name in names):  # of people, as in a play
        return None
    if is_text_pair(first):
        if all(re.fullmatch(r"\w*\d\w*", str(one[0])) for one in begun if is_text_pair(one)):
            return None  # a table by numbers or codes
        source.problem = source.problem or Problem("the log", UNNAMED)
        return ({"prompt": one[0], "response": one[1]} if is_text_pair(one) else one for one in every)
    return ({"history": one} if isinstance(one, list) else one for one in every) if in_turn(first) else None


def _yaml(source: Source) -> Iterator[Any] | None:
    from webapp.dumps import yaml_values  # which no page but that of a dump needs

    entries = yaml_values.read(source.file, source.start)
    items = (entry if isinstance(entry, Problem) else entry[1] for entry in entries)
    try:
        return chain([next(items)], items)
    except BadDump:
        return None


def _printed(head: str) -> list[Any] | None:
    """The records of a text in which Python printed objects that speak; None for others, and for a program's log."""
    if (
        len(head) == HEAD
        or not (_OF_CLASS.search(head) or _OF_DICT.match(head))
        or _LOGGED.search(head)
        or json_or_none(head.partition("\n")[0]) is not None
    ):
        return None
    records = list(printed_records(head, _is_whole))
    if not any(isinstance(record, dict) and (record.keys() & _TELLING or _is_whole(record)) for record in records):
        return None
    return [record for record in records if not isinstance(record, str) or record.strip()]


def _is_whole(value: dict[str, Any]) -> bool:
    """An event, of a stream or a framework, or a request with its response."""
    return is_event(value) or wrapped_event(value) is not None or any(pair <= value.keys() for pair in _PAIRS)


def _line(record: Any) -> bytes:
    """A record as a line; what is none becomes a line that cannot be read, so that it is said where it stood."""
    if isinstance(record, Problem):
        record = f"{record.at}: {record.reason}"
    if isinstance(record, str):
        return NO_RECORD + " ".join(record.split()).encode("ascii", "replace") + b"\n"
    return jsontext.dumps(record).encode("ascii") + b"\n"


_READERS: tuple[tuple[re.Pattern[str], Callable[[Source], Iterable[Any] | None]], ...] = (
    (_OLD_ENDS, _with_new_ends),
    (loose_json.IN_JSON, _of_whole(loose_json.in_json)),
    (loose_json.SEPARATED, loose_json.sequence),
    (loose_json.COMMENTED, _of_whole(loose_json.uncommented)),
    (loose_json.CARRIED, _of_whole(loose_json.carried)),
    (loose_json.BEHIND_KEY, loose_json.keyed),
    (loose_json.DOCUMENTS, loose_json.joined),
    (_DOCUMENT_LISTS, _joined_lists),
    (_LISTS, _of_lists),
    (_YAML, _yaml),
    (text_records.FRAME, text_records.frame_rows),
    (text_records.CONSOLE, _of_whole(text_records.spoken)),
    (text_records.AICHAT, _of_whole(text_records.asked_and_answered)),
    (SERVED, served_messages),
    (loose_json.HTTP, _of_whole(loose_json.exchanged)),
    (text_records.FLOWS, text_records.flows),
    (text_records.GLUED, _of_whole(text_records.glued)),
    (_TEXT_LISTS, _text_lists),
    (loose_json.SPOKEN, _of_whole(loose_json.spoken)),
    (loose_json.TEXTS, loose_json.texts),
)
"""how texts begin, and what reads them, or finds that they are none of these after all"""
