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
def listeners() -> list[Any]:
    """The servers that were started, for what only they know: who is connected, and what each is asked."""
    return []


@pytest.fixture
def serving(tmp_path: Path, migrated: Path, listeners: list[Any]) -> Iterator[Callable[..., Address]]:
    """Starts servers with changed settings; gives their addresses."""
    shutil.copyfile(migrated, tmp_path / "w.sqlite3")

    def start(**changes: Any) -> Address:
        settings = Settings(data=tmp_path / "w", database=f"sqlite:///{tmp_path / 'w.sqlite3'}", **changes)
        listeners.append(make_server(settings, "127.0.0.1", 0, 2, False))
        return stack.enter_context(running(listeners[-1]))

    with ExitStack() as stack:
        yield start


@contextmanager
def running(server: Any) -> Iterator[Address]:
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    try:
        yield "127.0.0.1", int(server.effective_port)
    finally:
        server.close()
        thread.join(60)


@pytest.fixture
def address(serving: Callable[..., Address]) -> Address:
    return serving()
