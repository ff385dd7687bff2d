"""Stores of files of every kind that is tested: the data folder, and fsspec's file and S3."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from webapp.config import Settings

KINDS = ("data", "file", "s3")


@pytest.fixture(scope="session")
def s3_server() -> Iterator[str]:
    """The address of a server that speaks S3, of this run alone; skipped without its library, failing then under CI."""
    try:
        import s3fs  # noqa: F401
        from moto.server import ThreadedMotoServer
    except ImportError as error:
        if os.environ.get("CI") == "true":
            pytest.fail(f"no S3 server under CI: {error}")
        pytest.skip(f"needs a local S3 server: {error}")
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture(params=KINDS)
def store_url(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str | None:
    """What `FENCEPOST_STORE` says: None for the data folder."""
    if request.param == "data":
        return None
    if request.param == "s3":
        import s3fs

        monkeypatch.setenv("AWS_ENDPOINT_URL", request.getfixturevalue("s3_server"))
        for name in ("ACCESS_KEY_ID", "SECRET_ACCESS_KEY"):
            monkeypatch.setenv(f"AWS_{name}", "test")
        bucket = f"bucket-{tmp_path.name.replace('_', '-').lower()}"[:63].strip("-")
        s3fs.S3FileSystem().mkdir(bucket)
        return f"s3://{bucket}/fencepost"
    return f"file://{tmp_path / 'shared'}"


@pytest.fixture
def url(tmp_path: Path, migrated: Path) -> str:
    return f"sqlite:///{shutil.copyfile(migrated, tmp_path / 'store.sqlite3')}"


@pytest.fixture
def settings(url: str, store_url: str | None, tmp_path: Path) -> Settings:
    return Settings(data=tmp_path / "data", database=url, home="direct", store=store_url)
