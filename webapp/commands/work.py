"""`fencepost work`: does the jobs behind the server that started it, and ends when that server does."""

from __future__ import annotations

import os
import signal
import sys
import tempfile
import threading

import click

from webapp import logs
from webapp.commands import _store
from webapp.store.ingest import dump_files
from webapp.store.jobs import worker

_NICER = 10


@click.command("work", hidden=True)
def command() -> None:
    """Do the jobs that wait, until there are none or standard input ends."""
    settings = _store.settings()
    logs.configure(settings.log)
    ends = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: ends.set())
    threading.Thread(target=_until_closed, args=(ends,), daemon=True).start()
    if hasattr(os, "nice"):
        os.nice(_NICER)
    tempfile.tempdir = str(dump_files.incoming(settings.data))
    with _store.engine(settings) as engine:
        worker.work(engine, settings, ends.is_set)
    sys.stdout.flush()


def _until_closed(ends: threading.Event) -> None:
    """The server holds the other end of standard input: it closes however the server ends."""
    while os.read(0, 1):
        pass
    ends.set()
