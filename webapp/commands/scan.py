"""`fencepost scan`: hold the logs on this machine, or in a folder, against a fixed list of checks; no server."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import webbrowser
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from threading import Thread
from urllib.parse import quote

import click

from webapp.commands import _arguments, _terminal
from webapp.config import Settings
from webapp.exports.redaction import Redactor
from webapp.parsing.words import counted
from webapp.scan import files, reports
from webapp.scan.reports import SEVERITIES, Scan
from webapp.scan.scanning import ScannedFile, scan_file
from webapp.visible import filesize

DEFAULT = timedelta(days=7)
"""how far back without a PATH"""
SMALL = 4 << 20
"""bytes of all files together up to which no further process is worth its start"""
FILE = click.Path(path_type=Path)
_PATIENCE = 2
"""seconds in which a server that runs already answers"""


@click.command("scan")
@click.option(
    "--since",
    type=_arguments.TimeAgo(),
    metavar="TIME",
    help="Only what is younger, e.g. 12h, 7d, 4w. Without PATH: 7d.",
)
@click.option("--all", "every", is_flag=True, help="Print every session that breaks a check, not the worst ten.")
@_arguments.home_option
@click.option(
    "--fail-on", type=click.Choice(SEVERITIES), default="low", show_default=True, help="Least severity for exit code 1."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@click.option("--sarif", type=FILE, metavar="FILE", help="Also write SARIF 2.1.0.")
@click.option("--junit", type=FILE, metavar="FILE", help="Also write JUnit's XML.")
@click.option("--html", "page", type=FILE, metavar="FILE", help="Also write one offline page.")
@_arguments.redaction_options
@click.option("--open", "opened", is_flag=True, help="Ingest what was scanned, and open the worst turn in a browser.")
@click.argument("paths", nargs=-1, metavar="[PATH]…")
def command(
    since: datetime | None,
    every: bool,
    home: str | None,
    fail_on: str,
    as_json: bool,
    sarif: Path | None,
    junit: Path | None,
    page: Path | None,
    redactor: Redactor | None,
    opened: bool,
    paths: tuple[str, ...],
) -> None:
    """Read the logs in each PATH, or those that agents keep on this machine, and say which answers cannot be trusted.

    Nothing is sent, and nothing is stored without --open; the logs are read and never written. Each session is held
    against eight checks, each of which is kept, broken, or not knowable from its log. Worst sessions come first.
    Ctrl+C ends with what is known by then.

    Exits with 0 when nothing is broken at or above --fail-on, with 1 when something is, with 2 when used wrongly.
    """
    if home is not None:
        _arguments.runnable(home)
    if since is None and not paths:
        since = datetime.now(UTC) - DEFAULT
    moment = since.timestamp() if since else None
    scan = _scanned(_found(paths, moment), moment, home, quiet=as_json)
    report, excerpts = reports.document(scan), reports.excerpts(scan, redactor.text if redactor else str)
    report = reports.masked(report, redactor) if redactor else report
    if as_json:
        _terminal.print_json(report)
    else:
        click.echo("\n".join(reports.text(report, excerpts, _terminal.styled, every=every)))
    for target, written in ((sarif, reports.sarif), (junit, reports.junit)):
        if target:
            target.write_text(written(report), "utf-8", errors="backslashreplace")
    if page:
        page.write_text(reports.page(report, excerpts), "utf-8", errors="backslashreplace")
    if opened:
        _open_worst(scan, home)
    sys.exit(1 if scan.breaks(fail_on) else 0)


def _open_worst(scan: Scan, home: str | None) -> None:
    """Store the scanned files, open the worst turn, and serve it unless a server with these data does so already."""
    from webapp.app import running_app  # the server, which a scan does without
    from webapp.commands import _start

    host, port = os.environ.get("HOST", "127.0.0.1"), int(os.environ.get("PORT", "5001"))
    settings = _start.settings_for(host)
    path = _stored(scan, settings, home)
    url = f"http://{_start.shown(host)}:{port}{path}"
    if _answers(url):
        click.echo(f"Opening {url}", err=True)
        webbrowser.open(url)
        return

    def show(at: str) -> None:
        """Beside the server: some browsers are waited for, and they wait for its answer."""
        Thread(target=webbrowser.open, args=(at + path,), daemon=True).start()

    _start.serve(running_app, settings, host, port, begun=show, err=True)


def _stored(scan: Scan, settings: Settings, home: str | None) -> str:
    """Store the scanned files; the path of the worst turn, which is the same each time, or of the list."""
    from sqlalchemy import orm

    from webapp.commands import _file_reader, _ingest_report, _store
    from webapp.store.sessions import sessions
    from webapp.web import links

    files_read = [scanned.file for scanned in scan.files if scanned.error is None]
    with _store.engine(settings) as engine:
        reader = _file_reader.FileReader(engine, settings, home=home)
        for file in files_read:
            result = reader.read(_arguments.InputFile(file.path, file.name))
            if result.error:
                _ingest_report.say(result)
        if (worst := next((session for session in scan.sessions if session.broken), None)) is None:
            return "/"
        with orm.Session(engine) as db:
            ident = links.ident(sessions.find(db, worst.id))
    return f"/sessions/{quote(ident, safe='')}" + (f"/turns/{worst.worst.position}" if worst.worst else "")


def _answers(url: str) -> bool:
    """Whether a server that runs already has the page."""
    from urllib.request import urlopen

    try:
        with urlopen(url, timeout=_PATIENCE) as answer:  # noqa: S310
            return bool(answer.status == 200)
    except OSError:
        return False


def _found(paths: Sequence[str], since: float | None) -> files.FoundLogs:
    missing = [path for path in paths if not os.path.lexists(path)]
    _arguments.refuse(missing, f"there is no file or folder {missing and click.format_filename(missing[0])!r}")
    return files.below(paths, since) if paths else files.on_this_machine(os.environ, Path.cwd(), since)


def _scanned(logs: files.FoundLogs, since: float | None, home: str | None, *, quiet: bool) -> Scan:
    """All files scanned; what is known where somebody interrupts, or a process that reads is killed."""
    total, bytes_read, responses = sum(file.bytes for file in logs.files), 0, 0
    if not quiet:
        click.echo(f"Looking at {counted(len(logs.files), 'file')} ({filesize(total)}), newest first", err=True)
    scan, work = Scan(logs, []), partial(scan_file, since=since, home=home)
    with _terminal.bar("scanning", hidden=quiet) as tell:
        try:
            for file in _each(logs.files, work, is_much=total > SMALL):
                scan.files.append(file)
                bytes_read, responses = bytes_read + file.file.bytes, responses + file.responses
                progress = f"{len(scan.files):,} of {len(logs.files):,} files, {counted(responses, 'response')}, bytes"
                tell(bytes_read, total, progress)
        except (KeyboardInterrupt, BrokenProcessPool):
            scan.complete = False
    return scan


def _each(
    log_files: Sequence[files.LogFile], work: Callable[[files.LogFile], ScannedFile], *, is_much: bool
) -> Iterator[ScannedFile]:
    """What comes of each file, on two processors where there is much to read; those end with whoever asks for it."""
    if not is_much or (os.cpu_count() or 1) < 2 or len(log_files) < 2:
        yield from map(work, log_files)
        return
    with ProcessPoolExecutor(2, multiprocessing.get_context("fork")) as pool:  # which knows one's own parser as well
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # so that its processes never get it
        try:
            futures = [pool.submit(work, file) for file in log_files]
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
            yield from (future.result() for future in as_completed(futures))
        finally:
            for process in multiprocessing.active_children():
                process.terminate()
