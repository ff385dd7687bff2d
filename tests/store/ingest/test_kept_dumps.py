"""Kept files of dumps: whole or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from webapp.config import Settings
from webapp.store.ingest import dump_files

SHA = "0" * 64


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(data=tmp_path / "data", database="")


def test_a_file_is_kept_whole_or_not_at_all(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spooled = tmp_path / "spooled"
    spooled.write_bytes(b"abc")

    def fsync(_: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch, pytest.raises(OSError, match="No space"):
        patch.setattr("os.fsync", fsync)
        dump_files.keep(settings, spooled, SHA)
    assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == ["spooled"]
    dump_files.keep(settings, spooled, SHA)
    with dump_files.open_kept(settings, SHA) as kept:
        assert kept.read() == b"abc"


def test_what_is_kept_already_stays(settings: Settings, tmp_path: Path) -> None:
    path = settings.data / dump_files.name_of(SHA)
    path.parent.mkdir(parents=True)
    path.write_bytes(b"there")
    dump_files.keep(settings, tmp_path / "no such file", SHA)
    assert path.read_bytes() == b"there"
