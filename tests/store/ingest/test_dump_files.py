"""The folder of incoming dumps."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from webapp.store.ingest import dump_files


def test_what_a_killed_process_left_long_ago_is_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = dump_files.incoming(tmp_path)
    old, new = folder / "old", folder / "new"
    for path in (old, new):
        path.touch()
    os.utime(old, (time.time() - 2 * dump_files._STALE,) * 2)
    later = time.monotonic() + dump_files._BETWEEN
    monkeypatch.setattr(dump_files.time, "monotonic", lambda: later)
    dump_files.incoming(tmp_path)
    assert (old.exists(), new.exists()) == (False, True)


def test_it_is_looked_for_once_a_minute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each file of a request asks for the folder; looking at all that are there took the square of their number."""
    looked: list[Path] = []
    monkeypatch.setattr(dump_files, "_remove_leftovers", lambda path, oldest: looked.append(path))
    for _ in range(100):
        dump_files.incoming(tmp_path)
    assert looked == [tmp_path / "dumps" / "incoming"]


def test_two_threads_that_come_first_at_once_keep_each_other_s_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Slow(list[int]):
        def append(self, item: int) -> None:
            super().append(item)
            time.sleep(0.05)

    monkeypatch.setattr(dump_files, "_handles", Slow())

    def spool(number: int) -> None:
        path = dump_files.incoming(tmp_path) / f"spool-{number}"
        path.touch()
        os.utime(path, (time.time() - 1,) * 2)

    threads = [threading.Thread(target=spool, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
        time.sleep(0.02)
    for thread in threads:
        thread.join()
    assert len(list((tmp_path / "dumps" / "incoming").iterdir())) == 3


HOLD = """
import sys, time, pathlib
from webapp.store.ingest import dump_files
(dump_files.incoming(pathlib.Path(sys.argv[1])) / "spool-dead").write_bytes(b"half")
print("spooling", flush=True)
time.sleep(60)
"""


def test_what_a_killed_process_left_goes_at_the_next_start(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", HOLD, str(tmp_path)], stdout=subprocess.PIPE) as process:
        assert process.stdout and process.stdout.readline() == b"spooling\n"
        look = "import sys, pathlib; from webapp.store.ingest import dump_files as d;"
        look += "print(len(list(d.incoming(pathlib.Path(sys.argv[1])).iterdir())))"
        count = [sys.executable, "-c", look, str(tmp_path)]
        assert subprocess.run(count, capture_output=True, check=True).stdout == b"1\n"  # it may be still in use
        process.kill()
        process.wait()
        assert subprocess.run(count, capture_output=True, check=True).stdout == b"0\n"
