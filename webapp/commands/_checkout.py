"""A parser of one's own as it was at a revision: in a git worktree that is there for as long as it runs."""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from webapp.capture import specs


@contextmanager
def before(revision: str, name: str) -> Iterator[str]:
    """The name of the profile that is the parser `name` at a git revision; its worktree is removed behind it.

    Exits with 2 where `name` is no parser of one's own, or git knows no such revision.
    """
    spec = specs.configured().get(name)
    if spec is None:
        raise click.UsageError(f"--before is for a parser of your own, and {name!r} is none")
    top = Path(_git(spec.folder, "rev-parse", "--show-toplevel"))
    commit = _git(top, "rev-parse", "--verify", "--short=12", f"{revision}^{{commit}}")
    with tempfile.TemporaryDirectory(prefix="fencepost-before-") as folder:
        tree = Path(folder, "tree").resolve()
        _git(top, "worktree", "add", "--detach", str(tree), commit)
        try:
            yield specs.add_at(spec, _name(name, commit), tree / spec.folder.resolve().relative_to(top.resolve()))
        finally:
            _git(top, "worktree", "remove", "--force", str(tree))


def _name(name: str, commit: str) -> str:
    return f"{re.sub(r'[^A-Za-z0-9]+', '-', name).strip('-') or 'parser'}-{commit}"


def _git(folder: Path, *words: str) -> str:
    """What git prints, less the line's end. Exits with 2 in git's own words where it refuses."""
    try:
        done = subprocess.run(["git", "-C", str(folder), *words], capture_output=True, text=True)  # noqa: S603, S607
    except OSError as error:
        raise click.UsageError(f"git could not be started: {error}") from None
    if done.returncode:
        raise click.UsageError(f"--before: {done.stderr.strip() or 'git refused'}")
    return done.stdout.strip()
