"""Formats of which more comes out than was sent: a bomb of each kind takes little memory and time, or is refused."""

from __future__ import annotations

import base64
import bz2
import gzip
import io
import json
import lzma
import os
import sqlite3
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgpack
import pytest

from webapp.dumps.packing import zstd

MOST_GROWN, MOST_SECONDS = 300 * 2**20, 10
MANY = 70 * 2**20
READ = """
import json, resource, sys, time
from pathlib import Path
from webapp.dumps import budget, read
from webapp.dumps.budget import Budget
from webapp.dumps.records import BadDump, UnknownFormat
from webapp.dumps.spool import spool

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
    except (BadDump, UnknownFormat) as refusal:
        said = str(refusal)
    finally:
        print(json.dumps([path.name, peak() - before, time.process_time() - since, count, said]), flush=True)
"""


def said(content: str) -> bytes:
    return b'{"messages":[{"role":"user","content":"Q"},{"role":"assistant","content":' + content.encode() + b"}]}\n"


LONG = said('"' + "a" * MANY + '"')
GZIP, ZSTD = gzip.compress(LONG, 1), zstd.compress(LONG)
VALUES = said("[" + "[]," * 400_000 + "[]]")
INNER = said(json.dumps("[" + "[]," * 2_600_000 + "[]]"))
"""JSON in a text, which is read where it may be a call"""


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
    column = "more text generated always as (hex(zeroblob(400000000))) virtual"
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


def _interior(page: int, child: int, cells: int = 300) -> bytes:
    starts = [page - 6 * number for number in range(1, cells + 1)]
    head = bytes([5, 0, 0]) + b"".join(number.to_bytes(2, "big") for number in (cells, starts[-1])) + b"\0"
    head += child.to_bytes(4, "big") + b"".join(start.to_bytes(2, "big") for start in starts)
    body = b"".join(child.to_bytes(4, "big") + bytes([0x81, number & 127]) for number in reversed(range(cells)))
    return head + bytes(page - len(head) - len(body)) + body


def checkpoint(folder: Path) -> bytes:
    deep = msgpack.packb([[]] * 3_000_000).hex()
    table = "create table checkpoints(thread_id text, checkpoint_ns text, checkpoint_id text, \
        parent_checkpoint_id text, type text, checkpoint blob, metadata blob)"
    return database(folder, table, f"insert into checkpoints values ('t', '', '1', null, 'msgpack', x'{deep}', null)")


def table(**columns: Callable[[Any], Any]) -> Callable[[Path], bytes]:
    def made(_: Path) -> bytes:
        pyarrow = pytest.importorskip("pyarrow")
        from pyarrow import parquet

        out, held = io.BytesIO(), {name: values(pyarrow) for name, values in columns.items()}
        parquet.write_table(pyarrow.table(held), out, compression="zstd")
        return out.getvalue()

    return made


def body(packed: bytes) -> bytes:
    content = {"text": base64.b64encode(packed).decode(), "encoding": "base64"}
    asked = {"text": '{"messages":[]}'}
    request = {"method": "POST", "url": "https://api.openai.com/v1/chat/completions", "postData": asked}
    entry = {"request": request, "response": {"status": 200, "content": content}}
    return json.dumps({"log": {"version": "1.2", "entries": [entry]}}).encode()


YAML = b"a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a]\n" + b"messages:\n  - role: *b\n    content: *b\n"
BOMBS: dict[str, Callable[[Path], bytes]] = {
    "long.jsonl.gz": lambda _: GZIP,
    "long.jsonl.zst": lambda _: ZSTD,
    "long.jsonl.xz": lambda _: lzma.compress(LONG, preset=0),
    "long.jsonl.bz2": lambda _: bz2.compress(LONG, 1),
    "values.jsonl.gz": lambda _: gzip.compress(VALUES),
    "items.json.zst": lambda _: zstd.compress(b"[" + (VALUES.strip() + b",") * 6 + b"{}]"),
    "values.json.gz": lambda _: gzip.compress(b"[" + VALUES + b"]"),
    "inner.jsonl.zst": lambda _: zstd.compress(INNER),
    "long.zip": lambda _: zipped({"a.jsonl": LONG}),
    "many.zip": lambda _: zipped({f"{number}.jsonl": LONG[: 20 * 2**20] for number in range(4)}),
    "packed.zip": lambda _: zipped({"a.jsonl.gz": GZIP}),
    "long.tar.gz": lambda _: tarred("a.jsonl", LONG),
    "values.eval": lambda _: zipped({"header.json": b'{"version":2,"eval":{}}', "samples/1_epoch_1.json": VALUES}),
    "values.opencode.zip": lambda _: zipped({"storage/message/ses_1/msg_1.json": VALUES}),
    "values.events.zip": lambda _: zipped({"s/events/1.json": VALUES}),
    "computed.db": computed,
    "circles.db": in_circles,
    "checkpoint.db": checkpoint,
    "one_text.parquet": table(
        prompt=lambda pa: pa.array(["Q"] * 400_000),
        response=lambda pa: pa.DictionaryArray.from_arrays(pa.array([0] * 400_000), ["a" * 1_000_000]),
    ),
    "page.parquet": table(response=lambda pa: pa.array(["b" * MANY])),
    "lists.parquet": table(messages=lambda pa: pa.array([["a" * 1_000_000] * 300] * 2)),
    "nothing.parquet": table(
        prompt=lambda pa: pa.array(["Q"] * 5 + [None] * 40_000_000, pa.string()),
        response=lambda pa: pa.nulls(40_000_005),
    ),
    "gzip.har": lambda _: body(GZIP),
    "deflate.har": lambda _: body(GZIP[10:-8]),
    "zstd.har": lambda _: body(ZSTD),
    "aliases.yaml": lambda _: YAML,
    "values.yaml.gz": lambda _: gzip.compress(
        b"messages:\n  - role: user\n    content: [" + b"[]," * 600_000 + b"[]]\n"
    ),
    "items.yaml.gz": lambda _: gzip.compress(b"- role: user\n  content: [" + b"[]," * 600_000 + b"[]]\n"),
    "cassette.yaml.gz": lambda _: gzip.compress(b"interactions:\n- request: [" + b"[]," * 600_000 + b"[]]\n"),
}


@pytest.fixture(scope="module")
def measured(tmp_path_factory) -> dict[str, tuple[int, float, int, str]]:
    """For each bomb: bytes of memory that reading it took, seconds, records, and why it was refused."""
    if not os.access("/proc/self/clear_refs", os.W_OK):
        pytest.skip("the peak of a process's memory can be reset on Linux alone")
    folder = tmp_path_factory.mktemp("bombs")
    for name, made in BOMBS.items():
        (folder / name).write_bytes(made(folder))
    command = [sys.executable, "-c", READ, *(str(folder / name) for name in BOMBS)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=Path(__file__).parents[2])
    return {name: tuple(rest) for name, *rest in map(json.loads, done.stdout.splitlines())}


@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_takes_little(name, measured):
    grown, seconds, count, _ = measured[name]
    print(name, measured[name])
    assert grown <= MOST_GROWN
    assert seconds <= MOST_SECONDS
    assert count < 60
