"""The program as a whole: help without importing commands, version, settings, its public module, what it needs."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
import tomllib
from importlib.util import find_spec
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from webapp import __version__, config, installation
from webapp.cli import COMMANDS, main

ROOT = Path(__file__).resolve().parents[1]


def test_help_lists_every_command_and_every_setting():
    said = CliRunner().invoke(main, ["--help"]).stdout
    assert all(f"  {name} " in said for name in COMMANDS)
    assert all(variable in said for variable, _ in config.describe())


def test_help_imports_no_command():
    code = "import sys; from webapp.cli import main\ntry: main(['--help'])\nexcept SystemExit: pass\n"
    code += "print([name for name in sys.modules if name.startswith('webapp.commands')], file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, cwd=ROOT, check=True)
    assert done.stderr.decode().strip() == "[]"


def test_version():
    assert CliRunner().invoke(main, ["--version"]).stdout == f"fencepost, version {__version__}\n"


def test_an_unknown_command_is_wrong_use():
    assert CliRunner().invoke(main, ["nope"]).exit_code == 2


@pytest.mark.parametrize("name", COMMANDS)
def test_each_command_is_there_under_its_name_and_has_json(name: str):
    assert find_spec(f"webapp.commands.{name}"), f"webapp/commands/{name}.py is missing"
    command = importlib.import_module(f"webapp.commands.{name}").command
    assert isinstance(command, click.Command)
    said = CliRunner().invoke(main, [name, "--help"], prog_name="fencepost")
    assert said.exit_code == 0
    assert said.stdout.startswith(f"Usage: fencepost {name} ")


ENVIRON = os.environ | {"PYTHONPATH": str(Path(__file__).resolve().parents[1])}


def run(folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", "from fencepost import parse; print(parse('[1]').values)"]
    return subprocess.run(command, cwd=folder, env=ENVIRON, capture_output=True, text=True, check=False)


def test_a_package_called_webapp_that_hides_ours_is_named(tmp_path: Path) -> None:
    (tmp_path / "webapp").mkdir()
    (tmp_path / "webapp" / "__init__.py").touch()
    done = run(tmp_path)
    assert done.returncode == 1
    said = done.stderr.splitlines()[-1]
    assert said.startswith(f"ImportError: {tmp_path / 'webapp' / '__init__.py'} is another package called webapp")
    assert "pytest --fencepost" in said


def test_an_error_within_a_module_of_ours_stays_as_it_is(tmp_path: Path) -> None:
    code = "import sys; sys.modules['webapp.client'] = None; import fencepost"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=ENVIRON, capture_output=True, text=True, check=False
    )
    assert "another package" not in done.stderr and "webapp.client" in done.stderr.splitlines()[-1]


def test_a_checkout_says_make_and_the_makefile_has_it() -> None:
    assert installation.install_extra("redact") == "make extras EXTRAS=redact"
    assert "\nextras: " in (ROOT / "Makefile").read_text()


@pytest.mark.parametrize("prefix", [sys.prefix, "/home/me/.local/share/pipx/venvs/fencepost"])
def test_elsewhere_it_names_the_libraries(monkeypatch: pytest.MonkeyPatch, prefix: str) -> None:
    monkeypatch.setattr(installation, "is_checkout", lambda: False)
    monkeypatch.setattr(sys, "prefix", prefix)
    optional = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    for extra in ("redact", "parquet", "hosted", "postgres"):
        command = installation.install_extra(extra)
        assert "fencepost[" not in command and command.split()[0] != "pip", command
        for requirement in optional[extra]:
            assert requirement.partition(">")[0] in command, command
        assert ("pipx inject fencepost" in command) == ("pipx" in prefix)


def test_no_text_asks_an_index_for_fencepost() -> None:
    for path in (*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), *(ROOT / "webapp").rglob("*.py")):
        assert "install 'fencepost" not in path.read_text("utf-8"), path
