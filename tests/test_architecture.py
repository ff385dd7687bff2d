"""docs/architecture.md is one page and true: each file and folder that it names exists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
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
