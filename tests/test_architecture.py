"""docs/architecture.md is one page and true: each file and folder that it names exists; and the package stays small."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
MODULES = {
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path.read_text("utf-8")
    for path in (ROOT / "webapp").rglob("*.py")
}
PAGE = (ROOT / "docs" / "architecture.md").read_text("utf-8")
PATHS = sorted(set(re.findall(r"`((?:webapp|tests|templates|static|migrations|docs)/[\w./-]*)`", PAGE)))


@pytest.mark.parametrize("path", PATHS)
def test_what_it_names_is_there(path: str) -> None:
    assert (ROOT / path).is_dir() if path.endswith("/") else (ROOT / path).is_file()


def test_it_is_one_page_and_has_ten_steps() -> None:
    assert PAGE.count("\n") < 110
    steps = PAGE.partition("## The life of a response\n")[2].partition("\n## ")[0]
    assert [int(number) for number in re.findall(r"^(\d+)\. \*\*", steps, re.MULTILINE)] == list(range(1, 11))


def test_every_room_of_the_package_is_named() -> None:
    rooms = [path.name for path in (ROOT / "webapp").iterdir() if (path / "__init__.py").is_file()]
    assert [room for room in sorted(rooms) if f"| `webapp/{room}/` |" not in PAGE] == []


def test_there_are_at_most_400_modules() -> None:
    assert sum(text.count("\n") > 3 for text in MODULES.values()) <= 400  # a package's docstring is none


def test_no_chain_of_imports_has_more_than_14_modules() -> None:
    imports, chains = {name: imported(text) - {name} for name, text in MODULES.items()}, {}

    def chain(name: str, above: tuple[str, ...] = ()) -> list[str]:
        if name not in chains:  # one that is above already, in a circle, is no further step
            below = [chain(other, (*above, name)) for other in sorted(imports[name]) if other not in (*above, name)]
            chains[name] = [name, *max(below, key=len, default=[])]
        return chains[name]

    longest = max((chain(name) for name in sorted(MODULES)), key=len)
    assert len(longest) <= 14, longest


def imported(text: str) -> set[str]:
    """The modules of the package that one imports, in its functions too."""
    nodes = list(ast.walk(ast.parse(text)))
    names = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    for node in nodes:
        if isinstance(node, ast.ImportFrom) and node.module:
            inner = {f"{node.module}.{alias.name}" for alias in node.names}
            names |= inner & MODULES.keys() if inner <= MODULES.keys() else inner | {node.module}
    return names & MODULES.keys()
