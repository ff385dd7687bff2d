"""`fencepost serve`: what it refuses, and that it can be stopped."""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from webapp.commands.serve import command, is_loopback, make_server, settings_for
from webapp.config import Settings

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("FENCEPOST_DATA", str(tmp_path))
    monkeypatch.delenv("FENCEPOST_TOKEN", raising=False)
    return tmp_path


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.5", "example.org"])
def test_only_loopback_is_served_without_a_token(host: str) -> None:
    done = CliRunner().invoke(command, ["--host", host, "--port", "0"])
    assert done.exit_code == 2
    assert "FENCEPOST_TOKEN" in done.output


def test_a_token_opens_other_addresses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FENCEPOST_TOKEN", "s3cret")
    assert "192.168.1.5" in settings_for("192.168.1.5").trusted_hosts
    assert "0.0.0.0" not in settings_for("0.0.0.0").trusted_hosts


def test_loopback_has_several_names() -> None:
    assert all(map(is_loopback, ["localhost", "127.0.0.1", "127.1.2.3", "::1", "[::1]"]))
    assert not any(map(is_loopback, ["0.0.0.0", "10.0.0.1", "::", "localhost.example.org", ""]))


def test_a_taken_port_is_said(data: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        done = subprocess.run(
            [sys.executable, "-m", "webapp", "serve", "--no-examples", "--port", str(port)],
            cwd=ROOT,
            env={**os.environ, "FENCEPOST_DATA": str(data)},
            capture_output=True,
            text=True,
        )
    assert done.returncode == 2
    assert "another PORT" in done.stderr


def test_a_bad_setting_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FENCEPOST_MAX_UPLOAD", "lots")
    done = CliRunner().invoke(command, [])
    assert done.exit_code == 2
    assert "FENCEPOST_MAX_UPLOAD" in done.output


def test_interrupting_stops_it_at_once(data: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "webapp", "serve", "--port", "0", "--no-examples"],
        cwd=ROOT,
        env={**os.environ, "FENCEPOST_DATA": str(data)},
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout
        assert "http://127.0.0.1" in process.stdout.readline()
        process.send_signal(signal.SIGINT)
        assert process.wait(10) == 0


def test_settings_are_where_serve_reads_them() -> None:
    assert settings_for("127.0.0.1") == Settings.from_environment()


@pytest.mark.parametrize(("path", "kind"), [("/api/dumps", "application/json"), ("/dumps", "text/plain")])
def test_an_upload_that_is_too_large_is_refused_in_words_that_help(data: Path, path: str, kind: str) -> None:
    settings = replace(Settings.from_environment(), max_upload=1024 * 1024)
    server = make_server(settings, "127.0.0.1", 0, 1, False)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    try:
        connection = http.client.HTTPConnection("127.0.0.1", server.effective_port, timeout=30)
        connection.putrequest("POST", path)
        connection.putheader("Content-Length", str(2**31))
        connection.endheaders()
        answer = connection.getresponse()
        said = answer.read().decode()
    finally:
        server.close()
        thread.join(30)
    assert answer.status == 413
    assert (answer.getheader("Content-Type") or "").startswith(kind)
    assert "may have 1 MB" in said and "FENCEPOST_MAX_UPLOAD" in said
    if path.startswith("/api/"):
        assert json.loads(said)["error"]["code"] == "too_large"
