"""A file comes back as it was put, is there whole or not at all, and what cannot be reached says so in words."""

from __future__ import annotations

from pathlib import Path

import pytest

from webapp.config import BadSetting, Settings
from webapp.store.files import StoreUnreachable, file_store, remote_files, without_password

HOSTILE = ("dumps/a%20%3F%2A..~0123-_.zst", "logs/session_dumps/plain.json")


def _file(tmp_path: Path, content: bytes) -> Path:
    path = tmp_path / "data" / "incoming-file"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(content)
    return path


@pytest.mark.parametrize("name", HOSTILE)
def test_a_file_comes_back_and_goes(settings: Settings, tmp_path: Path, name: str) -> None:
    store = file_store(settings)
    content = bytes(range(256)) * 40_000
    assert store.find(name) is None
    assert list(store.files("dumps")) == []
    for text in (b"first", content):
        path = _file(tmp_path, text)
        store.put(name, path)
        assert not path.exists()
        with store.open(name) as file:
            assert file.read() == text
    known = store.find(name)
    assert known is not None and (known.name, known.size) == (name, len(content))
    assert 0 <= known.age < 60
    assert [file.name for file in store.files(name.rpartition("/")[0])] == [name]
    store.remove(name)
    store.remove(name)
    assert store.find(name) is None
    with pytest.raises(FileNotFoundError):
        store.open(name)


def test_what_breaks_while_it_is_written_leaves_nothing(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, path = file_store(settings), _file(tmp_path, b"whole")

    def broken(*_: object, **__: object) -> None:
        raise OSError("cut off")

    with monkeypatch.context() as patch, pytest.raises(OSError, match="cut off"):
        where, step = (type(path), "replace") if settings.store is None else (type(store.file_system), "mv")
        patch.setattr(where, step, broken)
        store.put("dumps/x.zst", path)
    assert path.read_bytes() == b"whole"
    assert list(store.files("dumps")) == []


def test_a_store_that_cannot_be_reached(tmp_path: Path) -> None:
    with pytest.raises(StoreUnreachable, match=r"nosuch://ann:\*\*\*@host/x: .*nosuch"):
        remote_files("nosuch://ann:secret@host/x")
    (tmp_path / "file").write_bytes(b"")
    store = remote_files(f"file://{tmp_path / 'file'}")
    with pytest.raises(StoreUnreachable, match=r"FENCEPOST_STORE .*dumps/x\.zst"):
        store.put("dumps/x.zst", _file(tmp_path, b"x"))


def test_a_password_is_not_shown() -> None:
    assert without_password("s3://key:secret@bucket/x") == "s3://key:***@bucket/x"
    assert without_password("memory://x") == "memory://x"


def test_what_is_no_url_is_refused() -> None:
    with pytest.raises(BadSetting, match="FENCEPOST_STORE must be an fsspec URL"):
        Settings.from_environment({"FENCEPOST_STORE": "/srv/files"})
