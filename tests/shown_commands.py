"""The commands that pages, documents, help texts and messages show, each as the words that a shell would see."""

from __future__ import annotations

import ast
import html
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md", *sorted((ROOT / "docs").rglob("*.md"))]
TEMPLATES = sorted((ROOT / "templates").rglob("*.html"))
SOURCES = sorted((ROOT / "webapp").rglob("*.py"))
SHOWN = [*DOCUMENTS, *TEMPLATES, *SOURCES]
FENCE = re.compile(r"^ *```(\w*)[^\n]*\n(.*?)^ *```", re.DOTALL | re.MULTILINE)
ELEMENT = re.compile(r"<(code|pre)\b[^>]*>(.*?)</\1>", re.DOTALL)
MESSAGE = re.compile(r"fencepost (?!--)[a-z]+[^\"'`()\n]*?(?=[\"'`(),;:\n]|\.(?:\s|$)|$)")


@dataclass(frozen=True, slots=True)
class ShownCommand:
    """A program with its words; `environment` stands before it, `output` is the file that `>` names."""

    program: str
    words: tuple[str, ...]
    environment: tuple[tuple[str, str], ...] = ()
    output: str | None = None

    def __str__(self) -> str:
        return " ".join([*(f"{name}={value}" for name, value in self.environment), self.program, *self.words])


def of_file(path: Path, *programs: str) -> list[ShownCommand]:
    """The commands of these programs that `path` shows, in order, each once."""
    text = path.read_text("utf-8")
    behind = " " * (path.suffix == ".py")  # of the strings of modules a command is a sentence's words
    if not any(program + behind in text for program in programs):
        return []  # parsing every module took a second of each worker's start
    lines = [line for code in _code(path.suffix, text) for line in code.replace("\\\n", " ").splitlines()]
    named = (line for line in lines if any(program in line for program in programs))
    found = (command for line in named for command in _of_line(line.split(" #")[0]))
    return list(dict.fromkeys(command for command in found if command.program in programs))


def _code(suffix: str, text: str) -> Iterator[str]:
    if suffix == ".py":
        yield from (match for said in _strings(text) for match in MESSAGE.findall(said))
    elif suffix == ".html":
        yield from (html.unescape(match[2]) for match in ELEMENT.finditer(text))
    else:
        yield from (match[2] for match in FENCE.finditer(text) if match[1] in ("", "sh", "console", "yaml"))
        yield from re.findall(r"`([^`\n]+)`", FENCE.sub("", text))


def _strings(source: str) -> Iterator[str]:
    """The texts of a module, its docstrings too, with N where a value is put in."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.JoinedStr):
            parts = (part.value if isinstance(part, ast.Constant) else "N" for part in node.values)
            yield "".join(map(str, parts))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def _of_line(line: str) -> Iterator[ShownCommand]:
    for text in re.split(r"&&|\s\|\s|;\s", line):
        try:
            words = shlex.split(text.strip().removeprefix("$ ").removeprefix("- run: "))
        except ValueError:
            words = text.split()
        environment = []
        while words and re.fullmatch(r"[A-Z_]+=.*", words[0]):
            name, _, value = words.pop(0).partition("=")
            environment.append((name, value))
        output = words[words.index(">") + 1] if ">" in words[:-1] else None
        words = words[: words.index(">")] if ">" in words else words
        if len(words) > 1:
            yield ShownCommand(Path(words[0]).name, tuple(words[1:]), tuple(environment), output)
