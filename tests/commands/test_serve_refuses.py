"""What keeps `fencepost serve` and workers from starting: one sentence that names the setting, and no traceback."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests import forking

WITHOUT_DRIVER = """
import os, sys
from webapp.cli import main
sys.modules["psycopg"] = None
os.dup2(1, 2)
main(prog_name="fencepost")
"""


def refused(words: str, data: Path, code: str | None = None, **settings: str) -> tuple[int | None, str]:
    """The exit code, and the sentence behind `Error: `; of the program, or of `code` that starts it."""
    environ = {**os.environ, "FENCEPOST_DATA": str(data), "PORT": "0", **settings}
    if code is None:
        process = forking.command(*words.split(), environ=environ)
    else:
        process = forking.script(code, *words.split(), environ=environ, text=True)
    said, code_of_exit = process.communicate()[0], process.wait(100)
    assert "Traceback" not in said and "http://127" not in said, said
    assert said.count("Error: ") == 1
    return code_of_exit, said.rpartition("Error: ")[2]


@pytest.mark.parametrize(
    ("settings", "code", "reason"),
    [
        ({"FENCEPOST_HOME": "nonsense"}, 2, "FENCEPOST_HOME: "),
        ({"FENCEPOST_TRUSTED_HOSTS": "http://x/y"}, 2, "FENCEPOST_TRUSTED_HOSTS takes host names"),
        ({"FENCEPOST_STORE": "nonsense://x"}, 1, "FENCEPOST_STORE nonsense://x: "),
        ({"FENCEPOST_DATABASE": "nonsense://x/y"}, 2, "FENCEPOST_DATABASE is not a usable database URL: "),
        ({"FENCEPOST_DATABASE": "x"}, 2, "FENCEPOST_DATABASE is not a usable database URL: "),
        ({"FENCEPOST_DATABASE": "sqlite:////proc/nothing/x.sqlite3"}, 1, "cannot make the database's folder: "),
        ({"HOST": "300.1.1.1", "FENCEPOST_TOKEN": "a-token-of-16-characters"}, 2, "cannot listen on 300.1.1.1:0: "),
    ],
)
def test_a_setting_that_cannot_be_used(tmp_path: Path, settings: dict[str, str], code: int, reason: str) -> None:
    returned, said = refused("serve --no-examples", tmp_path / "data", **settings)
    assert returned == code and said.startswith(reason), said


@pytest.mark.parametrize("url", ["postgresql://127.0.0.1/x", "postgresql+psycopg://127.0.0.1/x"])
def test_a_database_without_its_driver(tmp_path: Path, url: str) -> None:
    returned, said = refused("serve --no-examples", tmp_path / "data", WITHOUT_DRIVER, FENCEPOST_DATABASE=url)
    assert returned == 2 and said.startswith("FENCEPOST_DATABASE needs psycopg: make extras EXTRAS=postgres"), said


@pytest.mark.parametrize("words", ["serve --no-examples", "work --stay"])
def test_a_data_folder_that_is_a_file(tmp_path: Path, words: str) -> None:
    (tmp_path / "data").touch()
    settings = {} if words.startswith("serve") else {"FENCEPOST_DATABASE": "postgresql+psycopg://root@127.0.0.1:1/x"}
    code, said = refused(words, tmp_path / "data", **settings)
    assert code == 1 and said.startswith("FENCEPOST_DATA: the data folder cannot be used: File exists: ")


@pytest.mark.parametrize("sealed", ["folder", "secret_key"])
def test_a_data_folder_that_cannot_be_used(tmp_path: Path, sealed: str) -> None:
    """A folder that is not writable, a key that is not readable; for root both are, so a link that leads nowhere."""
    data = tmp_path / "data"
    data.mkdir()
    if sealed == "folder":
        (data / "dumps").symlink_to("/proc/nothing/dumps")
    else:
        (data / "secret_key").symlink_to("/proc/nothing/key")
    code, said = refused("serve --no-examples", data)
    assert code == 1 and said.startswith("FENCEPOST_DATA: the data folder cannot be used: ")
    assert f"Let the server's user read and write {data}" in said
