"""Formats of which more comes out than was sent: a bomb of each kind takes little memory and time, or is refused."""

from __future__ import annotations

import base64
import bz2
import functools
import gzip
import io
import json
import lzma
import os
import sqlite3
import struct
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgpack
import pytest

from tests.locked import common_folder, locked
from webapp.dumps.reading import read
from webapp.dumps.records import Turn
from webapp.dumps.spool import zstd

MOST_GROWN, MOST_SECONDS = 300 * 2**20, 6  # of processor time, `as_measured`; without its bound a bomb takes minutes
MANY = 70 * 2**20
pytestmark = pytest.mark.timeout(600)  # one process reads them all, which takes minutes on a busy machine
READ = """
import json, resource, sys, time
from pathlib import Path
from tests.pace import as_measured
from webapp.dumps import budget
from webapp.dumps.reading import read
from webapp.dumps.budget import Budget
from webapp.dumps.budget import BadDump
from webapp.dumps.records import UnknownFormat
from webapp.dumps.spool import spool

budget.STRICT_RECORDS, budget.STRICT_VALUES, budget.MOST_SECONDS = 5_000, 100_000, 1

def peak():
    return int(Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0]) * 1024

for path in map(Path, sys.argv[1:]):
    Path("/proc/self/clear_refs").write_text("5")
    before, since, count, said = peak(), time.process_time(), 0, ""
    try:
        with path.open("rb") as stream:
            spooled = spool(stream, path.parent, max_bytes=2**32)
        with budget.reading(Budget(spooled.packed or spooled.bytes, is_strict=spooled.packed is not None)):
            for record in read(spooled.path, path.name):
                count += 1
                said += getattr(record, "reason", "")
    except (BadDump, UnknownFormat) as refusal:
        said += str(refusal)
    finally:
        took = as_measured(time.process_time() - since)
        print(json.dumps([path.name, peak() - before, took, count, said]), flush=True)
"""


def said(content: str) -> bytes:
    return b'{"messages":[{"role":"user","content":"Q"},{"role":"assistant","content":' + content.encode() + b"}]}\n"


VALUES = said("[" + ("[]," + " " * 40) * 30_000 + "[]]")
"""more than are read of what is packed, in more text than is decoded unasked"""


@functools.cache
def long() -> bytes:
    return said('"' + "a" * MANY + '"')


def lists() -> bytes:
    """Lists of four items each, of which the first five show what a list holds."""
    four = b",".join([b"[" + b"[]," * 19_000 + b"1]"] * 4)
    return b'{"a":"' + b"x" * 300_000 + b'"' + b"".join(b',"%d":[%s]' % (key, four) for key in range(240)) + b"}"


def inner() -> bytes:
    """JSON in a text, which is read where it may be a call."""
    return said(json.dumps("[" + "[]," * 2_600_000 + "[]]"))


@functools.cache
def gzipped() -> bytes:
    return gzip.compress(long(), 1)


@functools.cache
def zstandard() -> bytes:
    return zstd.compress(long())


def zipped(members: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return out.getvalue()


def tarred(name: str, data: bytes) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz", compresslevel=1) as archive:
        info = tarfile.TarInfo(name)
        info.size = len(data)
        archive.addfile(info, io.BytesIO(data))
    return out.getvalue()


def directory() -> bytes:
    """A zip that names 600,000 members in 32 MB."""
    name = struct.pack("<IHHHHHHIIIHHHHHII", 0x02014B50, 20, 20, *[0] * 7, 7, *[0] * 6)
    names = b"".join(name + b"%07d" % number for number in range(600_000))
    first = struct.pack("<IHHHHHIIIHH", 0x04034B50, 20, *[0] * 9)
    return first + names + struct.pack("<IHHHHIIH", 0x06054B50, 0, 0, 0xFFFF, 0xFFFF, len(names), len(first), 0)


@functools.cache
def words() -> bytes:
    return b"".join(b"14 k%07d=v\n" % number for number in range(2_500_000))


def described(kind: bytes) -> bytes:
    """A tar that says two and a half million things, of one member or of all of them."""
    info = tarfile.TarInfo("a.jsonl")
    info.type, info.size = kind, len(words())
    return info.tobuf() + words() + bytes(-len(words()) % 512) + tarfile.TarInfo("a.jsonl").tobuf() + bytes(1024)


def database(folder: Path, *statements: str) -> bytes:
    path = folder / "made.db"
    connection = sqlite3.connect(path)
    for statement in statements:
        connection.execute(statement)
    connection.commit()
    connection.close()
    data = path.read_bytes()
    path.unlink()
    return data


OPENAI = "create table agent_messages(id integer, session_id text, created_at text, message_data text"
SESSIONS = "create table agent_sessions(session_id text, created_at text, updated_at text)"
TURN = json.dumps({"role": "assistant", "content": "A"})


def computed(folder: Path) -> bytes:
    column = "more text generated always as (hex(zeroblob(200000000))) virtual"
    row = f"insert into agent_messages(id, session_id, message_data) values (1, 's', '{TURN}')"
    return database(folder, SESSIONS, f"{OPENAI}, {column})", row)


def in_circles(folder: Path) -> bytes:
    """A table whose pages lead to the same pages again and again: forty rows that are 300^6 times there."""
    rows = f"with recursive c(x) as (select 1 union all select x + 1 from c where x < 9) insert into agent_messages \
        select x, 's', '', '{TURN}' from c"
    data = bytearray(database(folder, f"{OPENAI})", rows, SESSIONS))
    page, leaf = 4096, data[4096:8192]
    assert leaf[0] == 13
    last = len(data) // page + 6
    data[28:32] = last.to_bytes(4, "big")
    for child in range(last - 4, last + 1):
        data += _interior(page, child)
    data += leaf
    data[page : 2 * page] = _interior(page, last - 5)
    return bytes(data)


def schema_in_circles(folder: Path) -> bytes:
    """As `in_circles`, where it is said which tables there are."""
    data, page = bytearray(in_circles(folder)), 4096
    leaf, start = data[100 : 108 + 2 * data[104]], int.from_bytes(data[105:107], "big")
    first, last = len(data) // page + 1, len(data) // page + 6
    data += leaf + bytes(start - len(leaf)) + data[start:page]
    for child in range(first, last):
        data += _interior(page, child)
    inner = _interior(page, last, 200)
    data[28:32] = last.to_bytes(4, "big")
    data[100:page] = inner[:412] + inner[512:]
    return bytes(data)


def _interior(page: int, child: int, cells: int = 300) -> bytes:
    starts = [page - 6 * number for number in range(1, cells + 1)]
    head = bytes([5, 0, 0]) + b"".join(number.to_bytes(2, "big") for number in (cells, starts[-1])) + b"\0"
    head += child.to_bytes(4, "big") + b"".join(start.to_bytes(2, "big") for start in starts)
    body = b"".join(child.to_bytes(4, "big") + bytes([0x81, number & 127]) for number in reversed(range(cells)))
    return head + bytes(page - len(head) - len(body)) + body


def one_page_for_all(folder: Path) -> bytes:
    """Sixty tables, of which each is the same five rows of a megabyte of brackets."""
    rows = [f"insert into agent_messages values ({number}, 's', '', '[{'[],' * 330_000}1]')" for number in range(5)]
    root = "select 'table', 't' || c.x, 't' || c.x, rootpage, replace(sql, 'agent_messages', 't' || c.x)"
    others = f"with recursive c(x) as (select 10 union all select x + 1 from c where x < 69) insert into sqlite_master \
        {root} from sqlite_master, c"
    return zstd.compress(database(folder, f"{OPENAI})", *rows, "pragma writable_schema = 1", others))


def checkpoint(folder: Path, value: bytes | None = None) -> bytes:
    deep = (value or msgpack.packb([[]] * 7_000_000)).hex()
    table = "create table checkpoints(thread_id text, checkpoint_ns text, checkpoint_id text, \
        parent_checkpoint_id text, type text, checkpoint blob, metadata blob)"
    return database(folder, table, f"insert into checkpoints values ('t', '', '1', null, 'msgpack', x'{deep}', null)")


def within_extensions(folder: Path) -> bytes:
    """Seven megabytes in fifty extensions, one in the other, each of which is copied to be read."""
    value = msgpack.packb("a" * 7_000_000)
    for _ in range(50):
        value = msgpack.packb(msgpack.ExtType(9, value))
    return zstd.compress(checkpoint(folder, value))


def table(**columns: Callable[[Any], Any]) -> Callable[[Path], bytes]:
    def made(_: Path) -> bytes:
        pyarrow = pytest.importorskip("pyarrow")
        from pyarrow import parquet

        out, held = io.BytesIO(), {name: values(pyarrow) for name, values in columns.items()}
        parquet.write_table(pyarrow.table(held), out, compression="zstd")
        return out.getvalue()

    return made


def lying(folder: Path) -> bytes:
    """A list of 50 million numbers, of which the end of the file says that they are two."""

    def numbers(pa: Any) -> Any:
        return pa.ListArray.from_arrays(pa.array([0, 1, 50_000_000], pa.int32()), pa.nulls(50_000_000, pa.int64()))

    data = table(prompt=lambda pa: pa.array(["Q", "Q"]), messages=numbers)(folder)
    end = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    count = bytes([0x80, 0xC2, 0xD7, 0x2F])
    assert count in data[end:]
    return data[:end] + data[end:].replace(count, b"\x84\x80\x80\0")


def body(packed: bytes) -> bytes:
    content = {"text": base64.b64encode(packed).decode(), "encoding": "base64"}
    asked = {"text": '{"messages":[]}'}
    request = {"method": "POST", "url": "https://api.openai.com/v1/chat/completions", "postData": asked}
    entry = {"request": request, "response": {"status": 200, "content": content}}
    return json.dumps({"log": {"version": "1.2", "entries": [entry]}}).encode()


def of_phoenix(messages: str) -> bytes:
    """A span as Phoenix's data frames have it, whose messages are what Python prints."""
    ids = {"context.trace_id": "t", "context.span_id": "s", "parent_id": None, "span_kind": "LLM", "name": "n"}
    row = {**ids, "start_time": "2026-01-01", "attributes.llm.input_messages": messages}
    return (json.dumps(row) + "\n").encode() * 2


def answered(printed: str) -> bytes:
    return b"".join(json.dumps({"prompt": "Q", "response": text}).encode() + b"\n" for text in ("A", printed))


LOGGED = "2026-01-01 12:00:00 INFO llm response: ChatCompletion(choices=[Choice(message=Message(content='A'))])"
PRINTED = "[" + "[]," * 340_000 + "[]]"
"""Python's parser makes 500 MB of this megabyte."""
STREAMED = b'data: {"id":"1","object":"chat.completion.chunk","choices":[]}\n'
YAML = b"a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a]\n" + b"messages:\n  - role: *b\n    content: *b\n"


def exchanged(*responses: str) -> bytes:
    line = {"method": "POST", "uri": "https://api.anthropic.com/v1/messages", "request": {"messages": []}}
    return "\n".join(json.dumps({**line, "response_text": response}) for response in responses).encode()


BOMBS: dict[str, Callable[[Path], bytes]] = {
    "long.jsonl.gz": lambda _: gzipped(),
    "long.jsonl.zst": lambda _: zstandard(),
    "long.jsonl.xz": lambda _: lzma.compress(long(), preset=0),
    "long.jsonl.bz2": lambda _: bz2.compress(long(), 1),
    "values.jsonl.gz": lambda _: gzip.compress(VALUES),
    "items.json.zst": lambda _: zstd.compress(b"[" + (VALUES.strip() + b",") * 2 + b"{}]"),
    "values.json.gz": lambda _: gzip.compress(b"[" + VALUES + b"]"),
    "lists.json.zst": lambda _: zstd.compress(lists()),
    "inner.jsonl.zst": lambda _: zstd.compress(inner()),
    "long.zip": lambda _: zipped({"a.jsonl": long()}),
    "many.zip": lambda _: zipped({f"{number}.jsonl": long()[: 20 * 2**20] for number in range(4)}),
    "packed.zip": lambda _: zipped({"a.jsonl.gz": gzipped()}),
    "long.tar.gz": lambda _: tarred("a.jsonl", long()),
    "directory.zip.zst": lambda _: zstd.compress(directory()),
    "member.tar.zst": lambda _: zstd.compress(described(b"x")),
    "members.tar.zst": lambda _: zstd.compress(described(b"g")),
    "values.eval": lambda _: zipped({"header.json": b'{"version":2,"eval":{}}', "samples/1_epoch_1.json": VALUES}),
    "values.opencode.zip": lambda _: zipped({"storage/message/ses_1/msg_1.json": VALUES}),
    "values.events.zip": lambda _: zipped({"s/events/1.json": VALUES}),
    "computed.db": computed,
    "circles.db": in_circles,
    "schema.db": schema_in_circles,
    "one_page.db.zst": one_page_for_all,
    "checkpoint.db": checkpoint,
    "extensions.db.zst": within_extensions,
    "one_text.parquet": table(
        prompt=lambda pa: pa.array(["Q"] * 400_000),
        response=lambda pa: pa.DictionaryArray.from_arrays(pa.array([0] * 400_000), ["a" * 1_000_000]),
    ),
    "page.parquet": table(response=lambda pa: pa.array(["b" * MANY])),
    "lists.parquet": table(
        messages=lambda pa: pa.ListArray.from_arrays(
            [0, 300, 600], pa.DictionaryArray.from_arrays(pa.array([0] * 600), ["a" * 1_000_000]).dictionary_decode()
        )
    ),
    "lying.parquet": lying,
    "nothing.parquet": table(
        prompt=lambda pa: pa.concat_arrays([pa.array(["Q"] * 5), pa.nulls(40_000_000, pa.string())]),
        response=lambda pa: pa.nulls(40_000_005),
    ),
    "gzip.har": lambda _: body(gzipped()),
    "deflate.har": lambda _: body(gzipped()[10:-8]),
    "zstd.har": lambda _: body(zstandard()),
    "printed.jsonl": lambda _: answered(f"ChatCompletion(choices={PRINTED})"),
    "compared.jsonl": lambda _: answered(f"ChatCompletion(choices=[{'1<' * 500_000}1])"),
    "formatted.jsonl": lambda _: answered(f"ChatCompletion(choices=[f'{'{1}' * 340_000}'])"),
    "printed.log": lambda _: f"{LOGGED}\n2026-01-01 12:00:00 INFO llm: ChatCompletion(choices={PRINTED})\n".encode(),
    "phoenix.jsonl.gz": lambda _: gzip.compress(of_phoenix(f"[{PRINTED}]")),
    "damaged.txt": lambda _: STREAMED + b'data: {"a\n' * 30_000,
    "braces.txt": lambda _: STREAMED + b"data: " + b'{"a":' * 200_000 + b"\n",
    "starts.jsonl": lambda _: exchanged("{}", 'data: {"type":"message_start","message":{}}\n' * 30_000),
    "keys.txt": lambda _: b"".join(STREAMED[:-2] + b',"k%d":1}\n' % number for number in range(30_000)),
    "console.txt": lambda _: b"a (to b):\n\n" + b"***** Suggested tool call: x *****\nArguments: \n" * 60_000,
    "buffer.txt": lambda _: b"Human: a\nAI: b\n" + b"[{'name': '" * 100_000,
    "frame.json": lambda _: json.dumps({"columns": ["prompt", "a" * 2**20], "data": [["q", "x"]] * 50_000}).encode(),
    "lists.json": lambda _: b"[\n1\n]\n[\n2\n]\n[\n" + b"3,\n" * 150_000 + b"4\n]\n",
    "rows.csv.gz": lambda _: gzip.compress(b"prompt,response\n" + b"a,b\n" * 250_000),
    "newlines.txt": lambda _: b"[{]" + b"\n" * 250_000,
    "aliases.yaml": lambda _: YAML,
    "values.yaml.gz": lambda _: gzip.compress(
        b"messages:\n  - role: user\n    content: [" + b"[]," * 1_300_000 + b"[]]\n"
    ),
    "items.yaml.gz": lambda _: gzip.compress(b"- role: user\n  content: [" + b"[]," * 1_300_000 + b"[]]\n"),
    "styles.css": lambda _: b"/* berths */\n" * 24 + b".berth { color: red }\n",
    "cassette.yaml.gz": lambda _: gzip.compress(b"interactions:\n- request: [" + b"[]," * 1_300_000 + b"[]]\n"),
}


KEPT = {"rows.csv.gz": 5_060}
"""records that are read, of those whose beginning is kept up to the bound"""
TOO_MANY = ("values.jsonl.gz", "items.json.zst", "values.json.gz", "values.eval", "values.events.zip")
"""bombs of values that take little memory though all were made: what is said shows that they were not"""


@pytest.fixture(scope="module")
def measured(tmp_path_factory) -> dict[str, tuple[int, float, int, str]]:
    """For each bomb: bytes of memory that reading it took, seconds, records, and why it was refused. Once a run."""
    if not os.access("/proc/self/clear_refs", os.W_OK):
        pytest.skip("the peak of a process's memory can be reset on Linux alone")
    found = common_folder(tmp_path_factory) / "bombs.jsonl"
    with locked(found):
        if not found.exists():
            found.write_text(read_all(tmp_path_factory.mktemp("bombs")))
    return {name: tuple(rest) for name, *rest in map(json.loads, found.read_text().splitlines())}


def read_all(folder: Path) -> str:
    for name, made in BOMBS.items():
        (folder / name).write_bytes(made(folder))
    command = [sys.executable, "-c", READ, *(str(folder / name) for name in BOMBS)]
    return subprocess.run(command, capture_output=True, text=True, check=True, cwd=Path(__file__).parents[2]).stdout


@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_takes_little(name, measured):
    grown, seconds, count, said = measured[name]
    print(name, measured[name])
    assert "more than 100,000 values" in said or name not in TOO_MANY
    assert grown <= MOST_GROWN
    assert seconds <= MOST_SECONDS
    assert count <= KEPT.get(name, 60)


def test_texts_that_are_written_by_their_beginnings_are_read(tmp_path):
    """As Parquet's second version writes them: Arrow refuses to hold each of them once."""
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    columns = {"prompt": ["Q"] * 300, "response": [f"the answer {number}" for number in range(300)]}
    encodings = {"prompt": "PLAIN", "response": "DELTA_BYTE_ARRAY"}
    path = tmp_path / "delta.parquet"
    parquet.write_table(pyarrow.table(columns), path, use_dictionary=False, column_encoding=encodings)
    said = [record.raw for record in read(path, path.name) if isinstance(record, Turn)]
    assert [text for text in said if text != "Q"] == columns["response"]
