"""The folder of incoming dumps."""

from __future__ import annotations

import os
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
    monkeypatch.setattr(dump_files, "_remove_leftovers", lambda path: looked.append(path))
    for _ in range(100):
        dump_files.incoming(tmp_path)
    assert looked == [tmp_path / "dumps" / "incoming"]
