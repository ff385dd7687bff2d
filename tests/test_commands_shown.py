"""What pages and documents show beside the commands of `fencepost` itself: make, curl, modules and scripts of Python.

`tests/test_commands_run.py` runs the commands of `fencepost`.
"""

from __future__ import annotations

import re
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from werkzeug.serving import make_server

from tests.commands.stored import dump
from tests.shown_commands import DOCUMENTS, ROOT, TEMPLATES, ShownCommand, of_file
from webapp.app import create_app
from webapp.config import Settings
from webapp.store.db import database
from webapp.store.jobs import worker
from webapp.web.worker_process import WorkerSupervisor

NOT_RUN = {
    "docker": "builds and runs a container, for which a network is needed",
    "gunicorn": "is in an extra: tests/test_wsgi.py loads the application as it does",
    "pytest": "tests/gate/test_workflow.py, test_pytest_plugin.py and tests/exports/test_labels.py run these",
    "pip": "takes other packages from an index",
    "pipx": "is on few machines: tests/test_wheel.py installs the core alone as it does",
    "benchmarks": "measure for minutes",
}


def shown(*programs: str) -> list[ShownCommand]:
    files = (of_file(path, *programs) for path in (*DOCUMENTS, *TEMPLATES))
    return list(dict.fromkeys(command for commands in files for command in commands))


def test_all_programs_that_are_shown_are_known() -> None:
    programs = {"make", "curl", "python", "fencepost", *NOT_RUN}
    fenced = ("npm", "npx", "docker", "gunicorn", "uvicorn", "pytest", "pip", "pipx", "uv", "brew", "apt", "git")
    assert {command.program for command in shown(*fenced)} <= programs


@pytest.mark.parametrize("command", shown("make"), ids=str)
def test_make_would_run_it(command: ShownCommand) -> None:
    """Without running it: `make test` is this, `make run` and `make extras` take packages from an index."""
    done = subprocess.run(["make", "-n", *command.words], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("command", shown("python"), ids=str)
def test_the_module_or_script_exists(command: ShownCommand) -> None:
    if command.words[0] == "-m":
        parts = command.words[1].split(".")
        is_ours = (ROOT / Path(*parts)).with_suffix(".py").exists() or (ROOT / Path(*parts)).is_dir()
        assert is_ours or parts[0] in NOT_RUN
    elif command.words[0] != "=":
        assert (ROOT / command.words[0]).exists()


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(data=tmp_path, database=f"sqlite:///{tmp_path / 'fencepost.sqlite3'}")


@pytest.fixture
def server(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """It starts no worker, whose work is done here."""
    monkeypatch.setattr(WorkerSupervisor, "wake", lambda _: None)
    made = make_server("127.0.0.1", 0, create_app(settings))
    thread = threading.Thread(target=made.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{made.port}/"
    made.shutdown()
    thread.join()
    made.server_close()


def test_curl_does_what_it_is_shown_for(server: str, settings: Settings, tmp_path: Path) -> None:
    """In the order of the pages; the worker does what each command leaves to it."""
    dump(tmp_path / "session.json", "a", "{}")
    commands = [command for command in shown("curl") if "http://h/" not in command.words]
    assert len(commands) > 2
    engine = database.connect(settings.database)
    for command in commands:
        text = re.sub(r"http://127\.0\.0\.1:5001/|\{\{.*?\}\}", server, " ".join(command.words))
        text = text.replace("<id>", "a").replace("exports/7", "exports/1")
        words = [*text.split(), *([] if server in text else [server])]
        done = subprocess.run(["curl", "-fsS", *words], cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, (command, done.stderr)
        worker.work(engine, settings)
    engine.dispose()
