"""A bar on standard error where that is a terminal: how far something is that takes long."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol


class Tell(Protocol):
    """What to tell how much of how much is finished, and what else the bar is to say."""

    def __call__(self, finished: int, total: int | None, said: str = "") -> None: ...


@contextmanager
def bar(title: str, *, hidden: bool = False, counts: bool = False) -> Iterator[Tell]:
    """What to tell how much of how much is finished; with `counts` the bar shows both numbers."""
    if hidden or not sys.stderr.isatty():
        yield lambda finished, total, said="": None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    shown_columns = columns if counts else Progress.get_default_columns()
    console = Console(stderr=True)
    with Progress(*shown_columns, console=console, redirect_stdout=False, transient=True) as progress:
        task = progress.add_task(title, total=None)
        yield lambda finished, total, said="": progress.update(
            task, completed=finished, total=total, description=f"{title} {said}".rstrip()
        )
