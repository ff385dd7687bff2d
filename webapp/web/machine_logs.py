"""The logs that agents keep on this machine: offered where server and browser are this machine, read on a click."""

from __future__ import annotations

import os
from ipaddress import ip_address
from pathlib import Path

from flask import Blueprint, abort, current_app, flash, redirect, request, url_for
from werkzeug.wrappers import Response

from webapp.parsing.words import counted
from webapp.scan.files import Found, on_this_machine
from webapp.web.dumps.uploads import UploadOptions, queue_upload
from webapp.web.render import page

blueprint = Blueprint("machine_logs", __name__, url_prefix="/machine-logs")

_FORWARDED = ("Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Real-Ip", "Via")
"""headers of a proxy, behind which the browser may be anywhere"""


@blueprint.app_template_global()
def is_this_machine() -> bool:
    """Whether the browser is on the server's own machine, and the server asks nobody who they are."""
    if current_app.config["SETTINGS"].asks_login or any(name in request.headers for name in _FORWARDED):
        return False
    try:
        return ip_address(request.remote_addr or "").is_loopback
    except ValueError:
        return False


@blueprint.get("")
def index() -> Response:
    """The programs whose logs are there, with their numbers; nothing of them is read yet."""
    return page("machine_logs/index.html", "machine_logs/_offer.html", found=_found())


@blueprint.post("")
def add() -> Response:
    """Queue the logs of one program, or of all, as if they had been uploaded."""
    program, queued = request.form.get("program", ""), 0
    for file in _found().files:
        if program in ("", file.program):
            try:
                with Path(file.path).open("rb") as stream:
                    queue_upload(stream, file.name, UploadOptions(None, None, None))
            except OSError as error:
                flash(f"{file.path} cannot be read: {error.strerror or error}")
            else:
                queued += 1
    flash(f"{counted(queued, 'log')} of this machine {'is' if queued == 1 else 'are'} being read.")
    return redirect(url_for("dumps.index"), 303)


def _found() -> Found:
    if not is_this_machine():
        abort(404)
    return on_this_machine(os.environ, Path.cwd(), None)
