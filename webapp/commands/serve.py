"""`fencepost serve`: the web server."""

from __future__ import annotations

from functools import partial

import click

from webapp import logs, memory
from webapp.commands import _start


@click.command()
@click.option("--host", envvar="HOST", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "--port", envvar="PORT", default=5001, show_default=True, type=click.IntRange(0, 65535), help="0 picks a free one."
)
@click.option("--examples/--no-examples", default=True, help="Load the example sessions into an empty database.")
@click.option("--threads", default=8, show_default=True, type=click.IntRange(1, 64), help="Requests served at once.")
def command(host: str, port: int, examples: bool, threads: int) -> None:
    """Serve the pages and the API until interrupted.

    Listens on loopback only, unless FENCEPOST_TOKEN or FENCEPOST_ACCOUNTS is set, since stored sessions may be
    confidential. With FENCEPOST_ROLE=worker it serves nothing and does what `fencepost work --stay` does.
    """
    memory.use_one_arena()
    settings = _start.settings_for(host)
    logs.configure(settings.log)
    if settings.role == "worker":
        from webapp.commands.work import work_on

        work_on(settings)
        return
    from webapp.app import running_app  # brings all pages, which a worker has no use for

    _start.serve(partial(running_app, examples=examples), settings, host, port, threads)
