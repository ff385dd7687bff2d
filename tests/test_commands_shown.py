"""Every command that a page or a document tells people to run exists, with the options that are shown."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from webapp.cli import main

ROOT = Path(__file__).resolve().parents[1]
SHOWN = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
SHOWN += sorted((ROOT / "templates").rglob("*.html"))
CODE = re.compile(r"```(?:sh|console)?\n(.*?)```|`([^`\n]+)`|<code>([^<{]+)</code>|<pre[^>]*>(.*?)</pre>", re.DOTALL)


def shown(path: Path) -> Iterator[str]:
    """The lines of code that `path` shows."""
    for match in CODE.finditer(path.read_text("utf-8")):
        text = next(group for group in match.groups() if group is not None)
        yield from (line.split(" #")[0].strip() for line in text.replace("&gt;", ">").splitlines())


def commands(path: Path, word: str) -> Iterator[list[str]]:
    """The words after `word` of each command that `path` shows, up to a pipe or a redirection."""
    for line in shown(path):
        for command in re.split(r"\s[|>]\s|\||&&", line):
            if (at := re.match(rf"(?:\w+=\S* |\$ )*{re.escape(word)} (.+)", command.strip())) is not None:
                try:
                    yield shlex.split(at[1])
                except ValueError:
                    yield at[1].split()


@pytest.mark.parametrize("path", SHOWN, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_every_command_exists_with_its_options(path: Path) -> None:
    for words in commands(path, "fencepost"):
        found: click.Command = main
        context = click.Context(main)
        rest = list(words)
        while isinstance(found, click.Group) and rest and (inner := found.get_command(context, rest[0])) is not None:
            found, rest = inner, rest[1:]
        is_named = found is not main or words[0].startswith("-") or not re.fullmatch(r"[a-z]+", words[0])
        assert is_named, words
        options = {name for parameter in found.params for name in (*parameter.opts, *parameter.secondary_opts)}
        for word in rest:
            if re.match(r"--[a-z]", word):
                known = options | ({"--version"} if found is main else set()) | {"--help"}
                assert word.partition("=")[0].strip("[]…,;") in known or isinstance(found, click.Group), (words, word)


@pytest.mark.parametrize("path", SHOWN, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_every_make_target_and_module_exists(path: Path) -> None:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for words in commands(path, "make"):
        assert next(word for word in words if "=" not in word) in targets, words
    for module in (words[1] for words in commands(path, "python") if words[0] == "-m" and len(words) > 1):
        parts = module.split(".")
        is_ours = (ROOT / Path(*parts)).with_suffix(".py").exists() or (ROOT / Path(*parts)).is_dir()
        assert is_ours or parts[0] in ("pip", "pytest", "venv"), module
    for script in (words[0] for words in commands(path, "python") if words[0].endswith(".py")):
        assert (ROOT / script).exists() or "/" not in script, script
