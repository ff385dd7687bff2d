"""`webapp/logs.py`: with FENCEPOST_LOG=json each line on standard error is JSON, also those of Celery and gunicorn."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import uuid
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.store.conftest import administer

ROOT = Path(__file__).resolve().parents[1]


def environment(folder: Path, **more: str) -> dict[str, str]:
    path = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
    return {**os.environ, "FENCEPOST_DATA": str(folder), "FENCEPOST_LOG": "json", "PYTHONPATH": path, **more}


def are_json(text: str) -> list[dict[str, str]]:
    """The lines, each of which is an object with the fields of all lines."""
    lines = [json.loads(line) for line in text.splitlines()]
    assert all({"time", "level", "logger", "message"} <= set(line) for line in lines)
    return lines


def test_gunicorns_own_way_is_left_without_it(tmp_path: Path) -> None:
    program = "from webapp import gunicorn_config; print(gunicorn_config.logconfig_dict)"
    environ = environment(tmp_path, FENCEPOST_LOG="")
    assert subprocess.check_output([sys.executable, "-c", program], env=environ, text=True) == "{}\n"


def test_gunicorn_itself(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "gunicorn", "--config", "python:webapp.gunicorn_config", "--threads", "4"]
    command += ["--bind", "127.0.0.1:0", "webapp.wsgi:app"]
    with subprocess.Popen(command, env=environment(tmp_path), stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr
        lines = []
        for line in process.stderr:
            lines.append(line)
            if "Booting worker" in line:
                process.terminate()
        assert process.wait(120) == 0
    assert "gunicorn.error" in {line["logger"] for line in are_json("".join(lines))}


@pytest.mark.postgres
@pytest.mark.skipif(find_spec("celery") is None, reason="Celery is not installed: make extras EXTRAS=broker")
def test_celerys_lines_too(tmp_path: Path) -> None:
    """Over a broker that is not there, of which Celery complains again and again."""
    name = f"fencepost_logs_{uuid.uuid4().hex[:8]}"
    administer(f"CREATE DATABASE {name}")
    try:
        settings = {
            "FENCEPOST_DATABASE": f"postgresql+psycopg://root@127.0.0.1/{name}",
            "FENCEPOST_BROKER": "redis://127.0.0.1:1/0",
        }
        with subprocess.Popen(
            [sys.executable, "-m", "webapp", "work", "--stay", "--processes", "1"],
            env=environment(tmp_path, **settings),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as process:
            assert process.stderr and process.stdout
            lines = []
            for line in process.stderr:
                lines.append(line)
                if "127.0.0.1:1" in line:
                    process.send_signal(signal.SIGTERM)
                    break
            output, rest = process.communicate(timeout=120)
        loggers = {line["logger"] for line in are_json("".join(lines) + rest)}
        assert any(logger.startswith("celery") for logger in loggers)
        assert "[config]" not in output and output.startswith("Fencepost works for ") and output.endswith("stopped\n")
    finally:
        administer(f"DROP DATABASE {name} WITH (FORCE)")
