"""What a dump at its worst costs: each case in a process of its own, with its peak of memory, its time and its end.

    python benchmarks/bad_input.py [CASE…] [--folder /tmp] [--megabytes 2048] [--turns 1000000]

A case goes in by the way people take (the command, `POST /api/dumps`, `POST /dumps`), then its pages are opened. The
files are made beside the data, in a folder that is removed. Memory is the whole process's, Python and the app included
(about 90 MB before anything is read).
"""

from __future__ import annotations

import argparse
import io
import json
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from webapp.app import create_app
from webapp.config import Settings
from webapp.dumps.budget import BadDump
from webapp.dumps.records import UnknownFormat
from webapp.extensions import db
from webapp.store.ingest.start import ingest

MEGABYTE = 1024 * 1024
WORDS = b"what the model said goes on and on, "
Case = Callable[["Bench"], str]


def message(role: str, content: str) -> bytes:
    return json.dumps({"role": role, "content": content}).encode()


class Bench:
    """One case's folder, app and sizes."""

    def __init__(self, folder: Path, megabytes: int, turns: int) -> None:
        self.path, self.megabytes, self.turns = folder / "dump", megabytes, turns
        self.settings = Settings(data=folder, database=f"sqlite:///{folder / 'fencepost.sqlite3'}")
        self.app = create_app(self.settings)

    def written(self, pieces: Iterator[bytes]) -> None:
        with self.path.open("wb") as file:
            for piece in pieces:
                file.write(piece)

    def ingested(self, name: str) -> str:
        """What became of the file, and how its session's pages open."""
        began = time.monotonic()
        with self.app.app_context(), self.path.open("rb") as file:
            try:
                found = ingest(db.engine, self.settings, file, filename=name)
            except (BadDump, UnknownFormat) as refusal:
                at = getattr(refusal, "at", "byte 0")
                return f"refused after {time.monotonic() - began:.1f} s: {at}: {str(refusal)[:90]}"
        said = f"{found.new_turns:,} turns in {time.monotonic() - began:.1f} s, {found.dump.problem_count} problems"
        said += "".join(f" ({problem.at}: {problem.reason[:80]})" for problem in found.problems[:1])
        return f"{said}; {self.opened(found.keys[0], found.new_turns - 1)}" if found.keys else said

    def opened(self, key: str, last: int) -> str:
        """Seconds and kilobytes of the session's page and of its last turn's."""
        said = []
        client = self.app.test_client()
        for name, path in (("session", f"/sessions/{key}"), ("turn", f"/sessions/{key}/turns/{last}")):
            began = time.monotonic()
            answer = client.get(path)
            size = len(answer.data) / 1024
            said.append(f"{name} page {answer.status_code}, {time.monotonic() - began:.2f} s, {size:,.0f} KB")
        return "; ".join(said)

    def posted(self, content: bytes, name: str) -> str:
        """The answers of the page, of the API and of the command."""
        client, said = self.app.test_client(), []
        for door, path in (("page", "/dumps"), ("API", f"/api/dumps?filename={name}")):
            form = {"data": {"file": (io.BytesIO(content), name)}} if door == "page" else {"data": content}
            began = time.monotonic()
            answer = client.post(path, **form)
            said.append(f"{door} {answer.status_code} in {time.monotonic() - began:.1f} s")
        self.path.with_name(name).write_bytes(content)
        command = [sys.executable, "-m", "webapp", "ingest", str(self.path.with_name(name))]
        environ = self.settings.environment() | {"PYTHONPATH": str(Path(__file__).resolve().parents[1])}
        done = subprocess.run(command, env=environ, capture_output=True, text=True)
        words = " ".join((done.stdout + done.stderr).split())[:120]
        return "; ".join([*said, f"command exits {done.returncode}: {words}"])


def long_string(bench: Bench) -> str:
    """valid JSON: one message whose text is all of the file"""
    bench.written(_between(b'[{"role": "assistant", "content": "', WORDS, b'"}]', bench.megabytes))
    return bench.ingested("string.json")


def long_line(bench: Bench) -> str:
    """the same, as a line of JSONL before a sound one"""
    sound = b'"}\n' + message("assistant", '{"a": 1}') + b"\n"
    bench.written(
        _between(message("user", "hello") + b'\n{"role": "assistant", "content": "', WORDS, sound, bench.megabytes)
    )
    return bench.ingested("line.jsonl")


def long_array(bench: Bench) -> str:
    """valid JSON: one array of numbers"""
    bench.written(_between(b"[1", b",1" * 50, b"]", bench.megabytes))
    return bench.ingested("array.json")


def long_list(bench: Bench) -> str:
    """valid JSON without a line end: messages of 1 MB"""
    one = b"," + message("user", (WORDS * (MEGABYTE // len(WORDS))).decode())
    bench.written(_between(b"[" + message("user", "hello"), one, b"]", bench.megabytes))
    return bench.ingested("list.json")


def one_line(bench: Bench) -> str:
    """valid JSON without a line end: sessions of 20 messages of 1.5 KB"""
    words = (WORDS * 43).decode()

    def pieces() -> Iterator[bytes]:
        size, number = 0, 0
        while size < bench.megabytes * MEGABYTE:
            said = [message("assistant" if turn % 2 else "user", f"{number}.{turn} {words}") for turn in range(20)]
            piece = b'%s{"id": "s%d", "messages": [%s]}' % (b"," if number else b"[", number, b", ".join(said))
            size, number = size + len(piece), number + 1
            yield piece
        yield b"]"

    bench.written(pieces())
    return bench.ingested("sessions.json")


def long_object(bench: Bench) -> str:
    """valid JSON: an object whose one text is all of the file, before its messages"""
    end = b'", "messages": [' + message("user", "hello") + b"]}"
    bench.written(_between(b'{"note": "', WORDS, end, bench.megabytes))
    return bench.ingested("object.json")


def long_among(bench: Bench) -> str:
    """valid JSON without a line end: one message that is all of the file, between two sound ones"""
    begin = b"[" + message("user", "hello") + b', {"role": "assistant", "content": "'
    bench.written(_between(begin, WORDS, b'"}, ' + message("assistant", "{}") + b"]", bench.megabytes))
    return bench.ingested("among.json")


def garbage(bench: Bench) -> str:
    """no JSON and no line end"""
    bench.written(_between(b"", b"\xfe\x01garbage", b"", bench.megabytes))
    return bench.ingested("garbage.json")


def broken(bench: Bench) -> str:
    """JSON that never ends: brackets without a line end"""
    bench.written(_between(b'{"entries": [', b'[{"a":', b"", bench.megabytes))
    return bench.ingested("broken.json")


def long_turn(bench: Bench) -> str:
    """one response of 50 MB"""
    value = b'```json\\n{\\"tool\\": \\"run\\", \\"text\\": \\"'
    bench.written(_between(b'[{"role": "assistant", "content": "' + value, WORDS, b'\\"}\\n```"}]', 50))
    return bench.ingested("turn.json")


def many_turns(bench: Bench) -> str:
    """one session"""
    bench.written(
        message("assistant" if number % 2 else "user", f'{{"n": {number}}}') + b"\n" for number in range(bench.turns)
    )
    return bench.ingested("many.jsonl")


def many_members(bench: Bench) -> str:
    """a zip of 10,000 files"""
    return bench.posted(
        _zip((f"{number}.json", b"[%s]" % message("user", "x")) for number in range(10_000)), "many.zip"
    )


def bomb(bench: Bench) -> str:
    """a zip of which 1000 times as much comes out"""
    return bench.posted(_zip([("bomb.json", b"[" + b" " * (300 * MEGABYTE) + b"]")]), "bomb.zip")


def deep(bench: Bench) -> str:
    """arguments and entries nested 200 deep"""
    nested = '{"a":' * 200 + "1" + "}" * 200
    entry = b'{"role": "assistant", "content": %s, "extra": %s}' % (json.dumps(nested).encode(), nested.encode())
    bench.written(iter([b"[", entry, b"]"]))
    return bench.ingested("deep.json")


CASES: dict[str, Case] = {
    case.__name__: case
    for case in (
        long_string,
        long_line,
        long_array,
        long_list,
        one_line,
        long_object,
        long_among,
        garbage,
        broken,
        long_turn,
        many_turns,
        many_members,
        bomb,
        deep,
    )
}


def _between(begin: bytes, middle: bytes, end: bytes, megabytes: int) -> Iterator[bytes]:
    piece = middle * max(1, MEGABYTE // len(middle))
    yield begin
    for _ in range(megabytes * MEGABYTE // len(piece)):
        yield piece
    yield end


def _zip(members: Any) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, data in members:
            packed.writestr(name, data)
    return out.getvalue()


def peak() -> float:
    """Megabytes that were resident at most, since this program began."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / 1024
    raise SystemExit("needs Linux: no VmHWM in /proc/self/status")


def child(case: str, folder: Path, megabytes: int, turns: int) -> None:
    began = time.monotonic()
    end = CASES[case](Bench(folder, megabytes, turns))
    print(f"{case:<13}{time.monotonic() - began:>8.1f} s {peak():>7,.0f} MB  {end}", flush=True)


def main() -> None:
    reader = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    reader.add_argument("case", nargs="*", help=", ".join(CASES))
    reader.add_argument("--folder", type=Path, default=None)
    reader.add_argument("--megabytes", type=int, default=2048)
    reader.add_argument("--turns", type=int, default=1_000_000)
    reader.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    given = reader.parse_args()
    if given.child:
        child(given.case[0], given.folder, given.megabytes, given.turns)
        return
    for case in given.case or CASES:
        with tempfile.TemporaryDirectory(dir=given.folder) as folder:
            sizes = ["--megabytes", str(given.megabytes), "--turns", str(given.turns), "--folder", folder]
            done = subprocess.run([sys.executable, "-m", "benchmarks.bad_input", case, "--child", *sizes])
            if done.returncode:
                print(f"{case:<13} ended with {done.returncode}", flush=True)


if __name__ == "__main__":
    main()
