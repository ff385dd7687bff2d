"""`fencepost mcp`: a read-only server of the Model Context Protocol, for agents that debug agents."""

from __future__ import annotations

from dataclasses import replace
from importlib.util import find_spec

import click

from webapp.commands import _store
from webapp.installation import install_extra


@click.command("mcp")
def command() -> None:
    """Serve sessions, turns, traces and failure groups to an agent, over standard input and output.

    Speaks the Model Context Protocol and changes nothing. The agent's program starts it; see docs/mcp.md. It reads the
    database that FENCEPOST_DATABASE names and asks for no token.

    Exits with 0 when the agent's program closes it, with 1 where the library is not installed.
    """
    if find_spec("mcp") is None:
        raise click.ClickException(
            f"fencepost mcp needs the library mcp, which is not installed: {install_extra('mcp')}"
        )
    from webapp.app import create_app
    from webapp.commands import _mcp_server

    settings = _store.settings()  # whoever starts it may read all of it: it asks for no token
    open_settings = replace(settings, token=None, trusted_hosts=("localhost", *settings.trusted_hosts))
    _mcp_server.server(create_app(open_settings).test_client()).run("stdio")
