"""`fencepost ingest --watch`: new and growing files, half a line, files that go away, and being stopped."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests import forking
from tests.commands.stored import dump
from webapp.commands import _folder_watch
from webapp.commands._file_reader import FileReader, FileResult
from webapp.commands._start import stopped_by_signals
from webapp.config import Settings
from webapp.store.db import database

WATCH = """
import os
from webapp.commands import _folder_watch
from webapp.cli import main

os.dup2(1, 2)
_folder_watch.FINAL = 10**9
main(prog_name="fencepost")
"""
"""The program, where no time is too long between the two halves of a line, and errors go to standard output too."""
LINE = '{"session_id": "live", "node_type": "agent", "content": "{\\"step\\": %d}"}'


class Program:
    """`fencepost ingest --watch --json` over a folder, looking every so many seconds."""

    def __init__(self, folder: Path, data: Path, every: float = 0.05) -> None:
        words = ("ingest", "--watch", "--json", "--every", str(every), str(folder))
        environ = {**os.environ, "FENCEPOST_DATA": str(data), "FENCEPOST_DATABASE": ""}
        self.process = forking.script(WATCH, *words, environ=environ, text=True)
        assert "watching" in self.process.stdout.readline()

    def next(self) -> dict[str, Any]:
        """What came of the next file that is read."""
        return json.loads(self.process.stdout.readline())

    def turns(self) -> int:
        """The turns of the next file that is read, all of which must have been without a problem."""
        (file,) = self.next()["files"]
        assert file["problems"] == []
        return int(file["dump"]["turn_count"])

    def end(self, number: int = signal.SIGINT) -> tuple[int | None, str]:
        """Stop it, and answer its exit code and what it said last."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        said, _ = self.process.communicate()
        return self.process.returncode, said


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "logs"
    path.mkdir()
    return path


@pytest.fixture
def program(folder: Path, data: Path) -> Iterator[Program]:
    program = Program(folder, data)
    yield program
    if program.process.poll() is None:
        program.end(signal.SIGKILL)


def test_new_and_growing_files_are_read_and_half_a_line_is_left_for_later(program: Program, folder: Path) -> None:
    path = folder / "live.jsonl"
    whole = [(LINE % number) + "\n" for number in range(4)]
    path.write_text("".join(whole[:2]) + whole[2][:20])
    assert program.turns() == 2
    with path.open("a") as file:
        file.write(whole[2][20:])
    assert program.turns() == 3
    dump(folder / "other.json", "other", "{}")
    assert program.next()["files"][0]["sessions"] == ["other"]
    with path.open("a") as file:
        file.write(whole[3].rstrip())
    assert program.turns() == 4
    code, said = program.end()
    assert (code, said) == (0, "stopped\n")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_stops_at_once_however_seldom_it_looks(folder: Path, data: Path, number: int) -> None:
    """And from the moment on at which it says that it watches: a signal killed it then."""
    assert Program(folder, data, every=3600.0).end(number) == (0, "stopped\n")


@pytest.fixture
def handlers() -> Iterator[None]:
    """What signals did before is what they do after the test."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.usefixtures("handlers")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_stops_though_a_destructor_was_interrupted(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], number: int
) -> None:
    """Python reports what is raised there, and goes on; then it slept until it was to look again."""

    class Ending:
        def __del__(self) -> None:
            signal.raise_signal(number)

    class Watch(_folder_watch.FolderWatch):
        def poll(self) -> Iterator[FileResult]:
            Ending()
            return iter(())

    ignored: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", ignored.append)
    monkeypatch.setattr(_folder_watch.time, "sleep", lambda _: None)
    with stopped_by_signals(err=True) as stop_requested:
        reader: Any = None
        assert list(Watch(reader, [], interval=3600.0).until(stop_requested)) == []
    assert capsys.readouterr().err == "stopped\n" and len(ignored) == 1


@pytest.fixture
def watch(folder: Path, tmp_path: Path) -> Iterator[Callable[..., list[str]]]:
    """Look once (or more often) at the folder; what was read as `name turns problems`, or `name skipped`."""
    settings = Settings(data=tmp_path / "data", database=f"sqlite:///{tmp_path / 'store.sqlite3'}")
    engine = database.connect(settings.database)
    database.migrate(engine)
    watched = _folder_watch.FolderWatch(FileReader(engine, settings, show=False), [str(folder)], interval=3600.0)

    def looked(times: int = 1) -> list[str]:
        for known in watched._known.values():
            known.not_before = 0.0
        said = []
        for result in [result for _ in range(times) for result in watched.poll()]:
            name = Path(result.file).name
            done = result.ingested
            said.append(f"{name} {done.dump.turn_count} {done.dump.problem_count}" if done else f"{name} {result}")
        return said

    yield looked
    engine.dispose()


Looked = Callable[..., list[str]]


def test_a_file_is_read_once_it_rests_and_once_only(watch: Looked, folder: Path) -> None:
    path = dump(folder / "a.json", "s1", "{}")
    assert watch() == []
    dump(path, "s1", "{}", "{}")
    assert watch() == []
    assert watch() == ["a.json 2 0"]
    assert watch(50) == []


def test_an_old_file_is_read_at_the_first_look(watch: Looked, folder: Path) -> None:
    os.utime(dump(folder / "a.json", "s1", "{}"), (0, 0))
    assert watch() == ["a.json 1 0"]


def test_a_file_of_lines_that_never_rests_is_read_all_the_same(watch: Looked, folder: Path) -> None:
    path = folder / "a.jsonl"
    said = []
    for text in ((LINE % 0) + "\n", (LINE % 1)[:9], (LINE % 1)[9:] + "\n", (LINE % 2) + "\n"):
        with path.open("a") as file:
            file.write(text)
        said += watch()
    assert said == ["a.jsonl 1 0", "a.jsonl 2 0", "a.jsonl 3 0"]


def test_a_document_that_never_rests_is_not_read_in_the_middle(watch: Looked, folder: Path) -> None:
    path = folder / "a.json"
    path.write_text('{"session_id": "s1",\n "entries": [\n')
    for number in range(9):
        with path.open("a") as file:
            file.write('{"node_type": "agent", "content": "x"},\n' if number else "")
        assert watch() == []


def test_a_line_that_stays_cut_is_a_problem_in_the_end(watch: Looked, folder: Path) -> None:
    (folder / "a.jsonl").write_text(f"{LINE % 1}\n{LINE % 2}\n{(LINE % 3)[:30]}")
    assert watch(2) == ["a.jsonl 2 0"]
    assert watch(_folder_watch.FINAL - 2) == []
    assert watch() == ["a.jsonl 2 1"]
    assert watch(2 * _folder_watch.FINAL) == []


def test_files_that_go_away_come_back_or_are_no_dumps(
    watch: Looked, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = dump(folder / "a.json", "s1", "{}")
    (folder / "notes.bin").write_bytes(b"\x7fELF")
    (folder / "empty.json").touch()
    (skipped,) = [said for said in watch(2) if not said.startswith("a.json")]
    assert "The log is not JSON" in skipped
    (folder / "notes.bin").write_bytes(b"\x7fELF again")
    assert watch(3) == []
    content = path.read_bytes()
    path.unlink()
    assert watch(2) == []
    path.write_bytes(content + b"\n")
    read = _folder_watch._whole_lines

    def removed(name: str) -> int | None:
        path.unlink(missing_ok=True)
        return read(name)

    monkeypatch.setattr(_folder_watch, "_whole_lines", removed)
    assert watch() == []


def test_a_reading_that_waited_for_others_does_not_put_off_the_next(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As for a database that somebody else wrote to for a minute: it was left alone for ten."""
    clock = [1_000_000.0]
    monkeypatch.setattr(_folder_watch.time, "monotonic", lambda: clock[0])

    class WaitsForLong:
        engine = None

        def read(self, file: Any, _limit: int | None) -> FileResult:
            clock[0] += 60.0
            return FileResult(file.path)

    os.utime(dump(folder / "a.json", "s1", "{}"), (0, 0))
    reader: Any = WaitsForLong()
    watched = _folder_watch.FolderWatch(reader, [str(folder)], interval=1.0)
    assert len(list(watched.poll())) == 1
    (record,) = watched._known.values()
    assert 0 <= record.not_before - clock[0] < 60.0


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        ('{"a": 1}\n{"b": 2}\n', 18),
        ('{"a": 1}\n{"b": 2}', 17),
        ('{"a": 1}\n{"b": ', 9),
        ('{"a": 1}\n', 9),
        ('{"a": 1}\n\n  ', 12),
        ('{"a": 1}', None),
        ('{"a": ', None),
        ("[\n{},\n", None),
        ("", None),
        ('{"a": 1}\n{"b": "' + "x" * 200_000, 9),
        ('{"a": 1}\n' + '{"b": 2}\n' * 20_000 + '{"c"', 9 + 180_000),
    ],
)
def test_where_whole_lines_end(text: str, whole: int | None, tmp_path: Path) -> None:
    path = tmp_path / "lines"
    path.write_text(text)
    assert _folder_watch._whole_lines(str(path)) == whole
