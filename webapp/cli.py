"""The `fencepost` program: a group that imports a command's module only when that command is called."""

from __future__ import annotations

import errno
import importlib
import os
import re
from typing import Any

import click

from webapp import __version__
from webapp.installation import install_extra
from webapp.refusals import Refusal
from webapp.visible import visible

COMMANDS = {
    "serve": "Serve the web pages and the API.",
    "ingest": "Read logs into the database.",
    "formats": "List what can be read.",
    "scan": "Check the agent logs on this machine, without a server.",
    "verify": "Check that everything in a file is stored.",
    "parse": "Parse one response, or many, and show the trace.",
    "contract": "Hold a log's calls and answers against what they declare.",
    "minimal": "Shorten a failing response while it fails the same way.",
    "dump": "Write a session as one JSON document.",
    "label": "List labels, or judge a response.",
    "replay": "Run a profile over stored responses.",
    "compare": "Compare two profiles over stored responses.",
    "failures": "List failure groups, new ones first.",
    "check": "Check a parser against a baseline: the gate for CI.",
    "home": "Set or list the parser behind sessions: your parser.",
    "profiles": "List the profiles.",
    "mcp": "Serve stored data to an agent, read-only (MCP).",
    "token": "Create an access token for FENCEPOST_TOKEN.",
    "user": "Manage accounts and API tokens.",
    "audit": "List the audit log: who wrote what.",
    "prune": "Permanently remove old sessions.",
    "work": "Run a worker: imports, replays and other jobs.",
    "db": "Create, migrate and check the database.",
}


SERVER = re.compile(
    r"(alembic|flask|flask_sqlalchemy_lite|markdown_it|prometheus_client|pythonjsonlogger|sqlalchemy|waitress"
    r"|werkzeug)(\..*)?"
)
"""what the extra `server` brings"""


class InWords(click.Context):
    """Ends a command with the words and the exit code of what it refuses, or of what the system refuses it (2)."""

    def invoke(self, callback: Any, /, *args: Any, **kwargs: Any) -> Any:
        try:
            return super().invoke(callback, *args, **kwargs)
        except Refusal as refusal:
            words = "\n".join(map(visible, str(refusal).split("\n")))
            raise click.UsageError(words, self) if refusal.exit_code == 2 else click.ClickException(words) from None
        except OSError as error:
            if error.errno in (None, errno.EPIPE):  # EPIPE: click ends quietly where nobody reads on
                raise
            where = f": {click.format_filename(error.filename)!r}" if error.filename else ""
            raise click.UsageError(visible(f"{error.strerror or error}{where}"), self) from None


def in_words(command: click.Command) -> click.Command:
    """The command, and those of a group, in a context that says what is refused."""
    command.context_class = InWords
    for inner in getattr(command, "commands", {}).values():
        in_words(inner)
    return command


class Lazy(click.Group):
    """Commands live in `webapp/commands/<name>.py` as `command`; names and help stand here, so that --help is fast."""

    context_class = InWords

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        return in_words(importlib.import_module(f"webapp.commands.{name}").command)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except ModuleNotFoundError as missing:
            if not SERVER.fullmatch(missing.name or ""):
                raise
            needs = f"this needs the libraries of the server ({missing.name} is not installed)"
            raise click.ClickException(f"{needs}: {install_extra('server')}") from None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        from webapp.config import describe

        with formatter.section("Settings, from the environment"):
            formatter.write_dl(describe())
        formatter.write_paragraph()
        formatter.write_text("Every command exits with 0 when done, 1 when the answer is no, 2 when used wrongly.")


@click.command(cls=Lazy, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="fencepost")
def main() -> None:
    """Fencepost shows the moment an LLM's answer should have become JSON and did not."""
    from webapp.capture import specs

    plain = bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM") == "dumb"
    click.get_current_context().color = False if plain else bool(os.environ.get("FORCE_COLOR")) or None
    specs.configured()
    specs.schemas()
    if specs.tools():
        from webapp.dumps.messages.declarations import configured

        configured()
