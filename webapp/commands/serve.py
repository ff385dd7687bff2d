"""`fencepost serve`: the web server."""

from __future__ import annotations

import gc
import ipaddress
import sys
import tempfile
from dataclasses import replace

import click

from webapp import paths
from webapp.config import BadSetting, Settings


@click.command()
@click.option("--host", envvar="HOST", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "--port", envvar="PORT", default=5001, show_default=True, type=click.IntRange(0, 65535), help="0 takes a free one."
)
@click.option("--examples/--no-examples", default=True, help="Load the example sessions into an empty database.")
@click.option("--threads", default=8, show_default=True, type=click.IntRange(1, 64), help="Requests served at once.")
def command(host: str, port: int, examples: bool, threads: int) -> None:
    """Serve the pages and the API until interrupted.

    Listens on loopback alone unless FENCEPOST_TOKEN is set: what is stored here is what agents said.
    """
    settings = settings_for(host)
    spool_beside(settings)
    server = make_server(settings, host, port, threads, examples)
    try:
        url = f"http://{shown(host)}:{server.effective_port}"
        click.echo(f"Fencepost is at {url} (data in {settings.data}); Ctrl+C stops it")
        sys.stdout.flush()
        gc.freeze()  # what is there by now stays, so no collection need look at it: a tenth of a request's time
        server.run()
    except KeyboardInterrupt:
        click.echo("stopped")
    finally:
        server.close()


def settings_for(host: str) -> Settings:
    """The settings, with the address among the trusted hosts. Refuses what is no loopback without a token."""
    try:
        settings = Settings.from_environment()
    except BadSetting as error:
        raise click.UsageError(str(error)) from error
    if is_loopback(host):
        return settings
    if settings.token is None:
        raise click.UsageError(
            f"{host} is not a loopback address: set FENCEPOST_TOKEN to a secret of your own first, so that not"
            " everybody on the network can read the sessions."
        )
    return settings if host in ("0.0.0.0", "::") else replace(settings, trusted_hosts=(*settings.trusted_hosts, host))  # noqa: S104


def spool_beside(settings: Settings) -> None:
    """Have waitress buffer bodies on the data folder's disk: /tmp may be small, or memory."""
    from webapp.store import kept

    settings.data.mkdir(parents=True, exist_ok=True)
    tempfile.tempdir = str(kept.incoming(settings.data))


def is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def shown(host: str) -> str:
    return f"[{host}]" if ":" in host and not host.startswith("[") else host


def make_server(settings: Settings, host: str, port: int, threads: int, examples: bool):  # type: ignore[no-untyped-def]
    """A waitress server that is bound and not yet running: waitress brings no types."""
    from waitress import create_server

    from webapp.app import create_app
    from webapp.commands import _cut
    from webapp.store.database import NewerDatabase

    try:
        app = create_app(settings)
    except NewerDatabase as error:
        raise click.ClickException(str(error)) from error
    if examples:
        load_examples(app)
    tell_lacking(app)
    look_after(app)
    try:
        server = create_server(
            app,
            host=host,
            port=port,
            threads=threads,
            ident=None,
            max_request_body_size=settings.max_upload,
            channel_timeout=300,
            clear_untrusted_proxy_headers=True,
        )
    except OSError as error:
        raise click.UsageError(f"cannot listen on {host}:{port}: {error.strerror}; try another PORT") from error
    _cut.install(server)
    return server


def look_after(app) -> None:  # type: ignore[no-untyped-def]
    """Have the index read before anybody asks, and what was deleted long ago removed."""
    from webapp.extensions import db
    from webapp.store import upkeep

    with app.app_context():
        upkeep.start(db.engine)


def tell_lacking(app) -> None:  # type: ignore[no-untyped-def]
    """Say in a line where sessions are not searchable yet, as in a database from an earlier version."""
    from webapp.extensions import db
    from webapp.store import search

    with app.app_context(), db.engine.connect() as connection:
        if search.lacking(connection):
            click.echo("Some sessions are not in the search index yet: fencepost db reindex takes them in.", err=True)


def load_examples(app) -> None:  # type: ignore[no-untyped-def]
    """Ingest `examples/` where nothing has ever been ingested."""
    from webapp.extensions import db
    from webapp.store.dumps import count
    from webapp.store.ingest import ingest

    with app.app_context():
        if count(db.session):
            return
        for path in sorted(paths.resource("examples").iterdir()):
            if path.suffix in (".json", ".jsonl"):
                with path.open("rb") as stream:
                    ingest(db.engine, app.config["SETTINGS"], stream, filename=path.name)
