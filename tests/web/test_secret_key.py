"""What logins are signed with is made once, and on PostgreSQL is the same on every machine."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import sqlalchemy as sa

from tests.store.conftest import engine, postgres, url  # noqa: F401 - fixtures
from webapp.config import Settings
from webapp.web.identity import secret_key


def test_machines_share_a_key_by_their_database_or_have_one_each(engine: sa.Engine, tmp_path: Path) -> None:  # noqa: F811
    def of(name: str) -> bytes:
        folder = tmp_path / name
        folder.mkdir(exist_ok=True)
        return secret_key(Settings(data=folder, database=""), engine)

    with ThreadPoolExecutor(4) as pool:
        keys = list(pool.map(of, ["a", "b", "c", "d"]))
    assert all(len(key) == 32 for key in keys)
    assert len(set(keys)) == (1 if engine.dialect.name == "postgresql" else 4)
    assert of("a") == keys[0]
    assert secret_key(Settings(data=tmp_path, database="", secret_key="k" * 32), engine) == b"k" * 32
