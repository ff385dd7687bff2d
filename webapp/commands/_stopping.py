"""How servers and workers end: by SIGTERM or Ctrl+C, at any moment after their start began, with `stopped` and 0."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import Event
from types import FrameType

import click


@contextmanager
def stopped_by_signals(*, err: bool = False) -> Iterator[Event]:
    """SIGTERM and Ctrl+C interrupt what runs within, which then has ended as it should; what is given says so, too.

    Libraries and destructors may swallow the interruption, so whoever is about to wait for long looks at the event
    first. With `err` it says so on standard error.
    """
    stop_requested = Event()

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        stop_requested.set()
        raise KeyboardInterrupt

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, interrupt)
    with suppress(KeyboardInterrupt):
        yield stop_requested
    click.echo("stopped", err=err)
