"""The command that installs an optional library fits how this copy came here, and never asks an index for Fencepost."""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

import pytest

from webapp import installation

ROOT = Path(__file__).resolve().parents[1]


def test_a_checkout_says_make_and_the_makefile_has_it() -> None:
    assert installation.install_extra("redact") == "make extras EXTRAS=redact"
    assert "\nextras: " in (ROOT / "Makefile").read_text()


@pytest.mark.parametrize("prefix", [sys.prefix, "/home/me/.local/share/pipx/venvs/fencepost"])
def test_elsewhere_it_names_the_libraries(monkeypatch: pytest.MonkeyPatch, prefix: str) -> None:
    monkeypatch.setattr(installation, "is_checkout", lambda: False)
    monkeypatch.setattr(sys, "prefix", prefix)
    optional = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    for extra in ("redact", "parquet", "agreement", "hosted", "postgres"):
        command = installation.install_extra(extra)
        assert "fencepost[" not in command and command.split()[0] != "pip", command
        for requirement in optional[extra]:
            assert requirement.partition(">")[0] in command, command
        assert ("pipx inject fencepost" in command) == ("pipx" in prefix)


def test_no_text_asks_an_index_for_fencepost() -> None:
    for path in (*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), *(ROOT / "webapp").rglob("*.py")):
        assert "install 'fencepost" not in path.read_text("utf-8"), path
