"""`fencepost scan --open`: what was scanned is ingested, and the worst turn is opened in the browser."""

from __future__ import annotations

import urllib.error
import urllib.request
import webbrowser
from threading import Thread
from urllib.parse import quote

import click
from sqlalchemy import orm

from webapp.commands import _store, _terminal
from webapp.commands._arguments import InputFile
from webapp.commands._file_reader import FileReader
from webapp.config import Settings
from webapp.scan.reports import Scan
from webapp.store.sessions import sessions
from webapp.web import links

_PATIENCE = 2
"""seconds in which a server that runs already answers"""


def stored(scan: Scan, settings: Settings, home: str | None) -> str:
    """Store the scanned files; the path of the worst turn, which is the same each time, or of the list."""
    _ingest(scan, settings, home)
    return _path(scan, settings)


def is_open(url: str) -> bool:
    """Open the page where a server that runs already has it."""
    if not _answers(url):
        return False
    click.echo(f"Opening {url}", err=True)
    webbrowser.open(url)
    return True


def show(url: str) -> None:
    """Beside the server: some browsers are waited for, and they wait for its answer."""
    Thread(target=webbrowser.open, args=(url,), daemon=True).start()


def _ingest(scan: Scan, settings: Settings, home: str | None) -> None:
    files = [scanned.file for scanned in scan.files if scanned.error is None]
    with _store.engine(settings) as engine, _terminal.bar("storing") as tell:
        reader = FileReader(engine, settings, home=home, show=False)
        for number, file in enumerate(files, 1):
            result = reader.read(InputFile(file.path, file.name))
            if result.error:
                _terminal.beside_bar(f"{click.format_filename(file.path)}: {result.error['message']}")
            tell(number, len(files))


def _path(scan: Scan, settings: Settings) -> str:
    worst = next((session for session in scan.sessions if session.broken), None)
    if worst is None:
        return "/"
    with _store.engine(settings, migrate=False) as engine, orm.Session(engine) as db:
        ident = links.ident(sessions.find(db, worst.id))
    return f"/sessions/{quote(ident, safe='')}" + (f"/turns/{worst.worst.position}" if worst.worst else "")


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=_PATIENCE) as answer:  # noqa: S310
            return bool(answer.status == 200)
    except (urllib.error.URLError, OSError):
        return False
