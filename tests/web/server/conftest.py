"""A server in this process, whose connections may be listened to."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from webapp.commands.serve import make_server
from webapp.config import Settings

Address = tuple[str, int]


@pytest.fixture
def serving(tmp_path: Path, migrated: Path) -> Iterator[Callable[..., Address]]:
    """Starts servers with changed settings; gives their addresses."""
    shutil.copyfile(migrated, tmp_path / "w.sqlite3")
    with ExitStack() as stack:
        yield lambda **changes: stack.enter_context(running(tmp_path, **changes))


@contextmanager
def running(folder: Path, **changes: Any) -> Iterator[Address]:
    settings = Settings(data=folder / "w", database=f"sqlite:///{folder / 'w.sqlite3'}", **changes)
    server = make_server(settings, "127.0.0.1", 0, 2, False)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    try:
        yield "127.0.0.1", int(server.effective_port)
    finally:
        server.close()
        thread.join(10)


@pytest.fixture
def address(serving: Callable[..., Address]) -> Address:
    return serving()
