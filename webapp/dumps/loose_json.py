"""JSON in other dress: within JSON, a text sequence, commented, behind keys or heads, in what a log store exports."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain, islice
from typing import Any

from webapp.dumps.decoding import json_or_none
from webapp.dumps.messages.framing import USER
from webapp.dumps.programs import BEGIN
from webapp.dumps.records import Problem
from webapp.dumps.source import HEAD, Source
from webapp.dumps.stream import Item, walk
from webapp.dumps.values import as_list, as_object, is_speech, moment

_RULE = r"[-=*_#]{3,200}[ \t]*(?:\r?\n|\Z)"
DOCUMENTS = re.compile(
    rf"\s*\{{(?:[ \t]*\r?\n[\s\S]*?\n\}},?[ \t]*(?:\r?\n)+(?:{_RULE}\s*)?\{{[ \t]*\r?\n|[^\n]*\}},[ \t]*\r?\n\{{)"
)
IN_JSON = re.compile(r'\s*"[\[{]')
SEPARATED = re.compile(r"\s*\x1e\s*[\[{]")
COMMENTED = re.compile(r"\s*+(?:[\[{](?:[^\0]{0,4000}?[\n,{\[]\s{0,40}+)?)?(?://|/\*)")
_TEXT = r'(?P<text>"(?:[^"\\]|\\[\s\S]?)*+"?)'
_COMMENT = re.compile(rf"{_TEXT}|//[^\n]*|/\*[\s\S]*?(?:\*/|\Z)")
"""a text or a comment that nothing closes goes to the end: sought anew at each sign, it would take square time"""
_ANSWERED = re.compile(r"HTTP/[\d.]{1,3} (\d{3})[^\n\"\\]*\n(?:[\w-]{1,80}:[^\n]*\n){0,200}\r?\n")
_HEADS = re.compile(f"^{_ANSWERED.pattern}", re.M)
HTTP = re.compile(rf"httprr trace v1\r?\n\d|{_ANSWERED.pattern}")
"""how a text of responses begins, as curl -i and editors' clients write it, and one of httprr"""
CARRIED = re.compile(
    r'\s*\{\s*"(?:(?:status|data)"[\s\S]{0,200}?"resultType"\s*:\s*"streams"|events"\s*:\s*\[(?=[\s\S]*"ingestionTime")'
    r'|labels"[^\n]*"line"\s*:|line"[^\n]*"labels"\s*:)'
)
"""how Loki answers, and CloudWatch, and what Loki's client prints: records of which each holds a line of a log"""
_OF_LOKI = {"labels", "line", "timestamp"}
_KEY = (
    r"(?:(?:CreateTime|LogAppendTime|Partition|Offset):\d+\t|NO_TIMESTAMP\t){0,3}"
    r"(?!\d{4}-|(?:TRACE|DEBUG|INFO|WARN|WARNING|ERROR)\t)([\w.:@/-]{1,100})\t(\{[^\n]*)"
)
BEHIND_KEY, _KEYED = re.compile(_KEY), re.compile(_KEY.encode())
"""a record of Kafka's behind its key, as its console prints it"""
_LAST_COMMA = re.compile(rf"{_TEXT}|,(?=\s*[}}\]])")


def joined(source: Source) -> Iterator[bytes]:
    """JSON objects or lists, each of which ends with a line that is its bracket, or is one line: their lines as one."""
    source.file.seek(source.start)
    end = b""
    for line in source.file:
        written = line.rstrip(b", \t\r\n")
        if not re.match(_RULE.encode(), line) and written:
            is_end = written == end or (not end and written.endswith((b"}", b"]")))
            end = b"" if is_end else end or {b"{": b"}", b"[": b"]"}.get(written.lstrip()[:1], b"")
            yield written + b"\n" if is_end else line.rstrip(b"\r\n") + b" "


def in_json(written: str) -> list[Any] | None:
    """The object that a text in JSON holds as JSON, as LlamaIndex writes it; or those of such texts one a line."""
    texts = [written] if "\n" not in written.strip() else written.splitlines()
    values = [json_or_none(inner) for line in texts if isinstance(inner := json_or_none(line), str)]
    return values if values and all(isinstance(value, dict) for value in values) else None


def sequence(source: Source) -> Iterator[bytes]:
    """The records of a JSON text sequence (RFC 7464), each behind a separator, as lines; none is held whole."""
    source.file.seek(source.start)
    for number, line in enumerate(source.file):
        if number and line.startswith(b"\x1e"):
            yield b"\n"
        yield line.strip(b"\x1e\r\n") + b" "


def uncommented(written: str) -> list[bytes] | None:
    """JSON, or lines of it, without comments and commas before what ends; None for other texts."""
    given = written
    for noise in (_COMMENT, _LAST_COMMA):
        written = noise.sub(lambda match: match["text"] or "", written)
    lines = [line for line in written.split("\n") if line.strip()]
    are_json = json_or_none(written) is not None or (lines and all(json_or_none(line) is not None for line in lines))
    return [written.encode("utf-8", "surrogateescape")] if are_json and written != given else None


def carried(written: str) -> list[bytes] | None:
    """The lines of a log, by their times, out of what the store exports in which it was kept; None for other texts."""
    values = [json_or_none(written)] if "\n{" not in written.strip() else map(json_or_none, written.splitlines())
    lines: list[tuple[Any, ...]] = []
    for value in map(as_object, values):
        streams = as_list(as_object(value.get("data")).get("result"))
        lines += [(*pair, None)[:2] for stream in map(as_object, streams) for pair in as_list(stream.get("values"))]
        events = [value] if value.keys() == _OF_LOKI else as_list(value.get("events"))
        lines += [(event.get("timestamp"), event.get("line", event.get("message"))) for event in map(as_object, events)]
    written_at = [pair for pair in sorted(lines, key=lambda pair: str(pair[0])) if isinstance(pair[1], str)]
    return [f"{_timed(*pair)}\n".encode("utf-8", "surrogateescape") for pair in written_at] or None


def _timed(when: Any, line: str) -> str:
    """A line of a log as it was, behind its time where it is no JSON and says none itself."""
    is_begun = line[:1] in ("{", "[", " ", "\t") or BEGIN.match(line)
    return line.rstrip() if is_begun or (at := moment(when)) is None else f"{at.isoformat()} {line.rstrip()}"


def keyed(source: Source) -> Iterator[Any] | None:
    """Records behind their keys, which name sessions where one comes again; None for other texts."""
    source.file.seek(source.start)
    keys = [match[1] for line in source.file.read(HEAD).splitlines() if (match := _KEYED.match(line))]
    named = len(set(keys)) < len(keys)

    def records() -> Iterator[Any]:
        for _, line in source.lines():
            match = _KEYED.match(line)
            value = json_or_none(match[2].decode("utf-8", "surrogateescape")) if match else None
            if match and isinstance(value, dict):
                yield {"session_id": match[1].decode(), **value} if named else value
            else:
                yield line.decode("utf-8", "replace")

    return records() if keys else None


def exchanged(written: str) -> Iterator[Any]:
    """What a server answered, one response below its head after the other, or what Go's httprr recorded of both."""
    return _recorded(written) if written.startswith("httprr") else _responses(written)


def _responses(written: str) -> Iterator[Any]:
    marks = list(_HEADS.finditer(written))
    for mark, end in zip(marks, [*(mark.start() for mark in marks[1:]), len(written)], strict=True):
        yield {"response": {"status": int(mark[1]), "body": written[mark.end() : end].strip()}}


_SIZES = re.compile(r"\d{1,9} \d{1,9}\r?\n(?=[A-Z]{3,7} \S{1,2000} HTTP/)")
"""of a request and its response, as Go's httprr writes them before both"""


def _recorded(written: str) -> Iterator[Any]:
    """The exchanges that Go's httprr recorded; one without a response as a text."""
    marks = list(_SIZES.finditer(written))
    for mark, end in zip(marks, [*(mark.start() for mark in marks[1:]), len(written)], strict=True):
        record = written[mark.end() : end]
        if (answered := _ANSWERED.search(record)) is None:
            yield record
            continue
        head, _, body = record[: answered.start()].replace("\r\n", "\n").partition("\n\n")
        request = {"url": head.split(" ", 2)[1], "body": body}
        yield {"request": request, "response": {"status": int(answered[1]), "body": record[answered.end() :]}}


SPOKEN, _NAME = re.compile(r'\s*+\[\s*+"[^\W\d_][\w .@-]{0,40}: '), re.compile(r"([^\W\d_][\w .@-]{0,40}): ")


def spoken(written: str) -> list[bytes] | None:
    """A list of what two said, each behind the own name, as the text of a chat; None of another list."""
    items = as_list(json_or_none(written))
    texts = [item for item in items if isinstance(item, str)]
    names = [name[1] for item in texts if (name := _NAME.match(item))]
    asked = [name for name in names if re.fullmatch(USER, name, re.I)]
    is_chat = asked and len(set(names)) == 2 and len(names) == len(items)
    return ["\n\n".join(texts).encode("utf-8", "surrogatepass")] if is_chat else None


def listed(source: Source) -> Iterator[Any]:
    """The items of a list, or the values of lines; what is wrong with others as problems and texts."""
    first, end = source.line(source.start)
    source.file.seek(end)
    if first.rstrip().endswith((b"]", b'"')) and source.file.read(HEAD).strip():
        yield from (_value(line) for _, line in source.lines() if line.strip())
        return
    for part in walk(source.text(), frozenset()):
        if isinstance(part, Problem | Item):
            yield part if isinstance(part, Problem) else part.value


def _value(line: bytes) -> Any:
    value = json_or_none(line.decode("utf-8", "surrogateescape"))
    return Problem("a line", "not JSON") if value is None else value


TEXTS = re.compile(r"\s*+(?:\[\s*+)?\"(?:[^\"\\\n]|\\.)*+\"[ \t\r]*+(?:,|\n\s*+\")")
"""texts in a list, or one a line"""


def texts(source: Source) -> Iterator[Any] | None:
    """Texts as records of one `item`, whoever wrote them; None where hardly one of the first says anything."""
    begun = list(islice(values := listed(source), 20))
    if not all(isinstance(one, str) for one in begun) or 2 * sum(map(is_speech, begun)) < len(begun):
        return None
    return ({"item": one} if isinstance(one, str) else one for one in chain(begun, values))
