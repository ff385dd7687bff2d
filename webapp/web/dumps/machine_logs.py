"""Agents' logs on the server's own machine: offered to a browser there, and read as if they had been uploaded."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

from flask import Blueprint, abort, current_app, flash, redirect, request, url_for
from werkzeug.wrappers import Response as AnyResponse

from webapp.extensions import db
from webapp.parsing.words import counted
from webapp.scan.files import FoundLogs, LogFile, on_this_machine
from webapp.store.jobs import imports
from webapp.web import peers
from webapp.web.answers import page
from webapp.web.dumps.uploads import UploadOptions, queue_upload

blueprint = Blueprint("machine_logs", __name__, url_prefix="/machine-logs")

_FORWARDED = ("Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Real-Ip", "Via")
"""headers of a proxy, behind which the browser may be anywhere"""


@blueprint.app_template_global()
def is_this_machine() -> bool:
    """Whether the browser is on the server's own machine, and the server asks nobody who they are."""
    if current_app.config["SETTINGS"].asks_login or any(name in request.headers for name in _FORWARDED):
        return False
    here = peers.parsed(request.remote_addr)
    return here is not None and here.is_loopback


@blueprint.get("")
def index() -> AnyResponse:
    """The programs whose logs are there, and of each how many are new or have changed since they were read."""
    found = _found()
    unread = Counter(file.program for file in _unread(found))
    return page("machine_logs/index.html", "machine_logs/_offer.html", found=found, unread=unread)


@blueprint.post("")
def add() -> AnyResponse:
    """Queue what is unread of the logs of one program, or of all, as if they had been uploaded."""
    program, queued = request.form.get("program", ""), 0
    for file in _unread(_found()):
        if program in ("", file.program):
            try:
                with Path(file.path).open("rb") as stream:
                    queue_upload(stream, file.name, UploadOptions(format=None, home=None, mapping=None))
            except OSError as error:
                flash(f"{file.path} cannot be read: {error.strerror or error}")
            else:
                queued += 1
    is_are = "is" if queued == 1 else "are"
    flash(f"{counted(queued, 'log')} of this machine {is_are} being read." if queued else "No log there is unread.")
    return redirect(url_for("dumps.index"), 303)


def _found() -> FoundLogs:
    if not is_this_machine():
        abort(404)
    return on_this_machine(os.environ, Path.cwd(), None)


def _unread(found: FoundLogs) -> list[LogFile]:
    """The logs that were not read as they are now, and do not wait to be."""
    received = imports.received(db.session.connection(), {file.bytes for file in found.files})
    return [
        file
        for file in found.files
        if not any(one.is_of(Path(file.path), file.name, file.modified) for one in received.get(file.bytes, ()))
    ]
