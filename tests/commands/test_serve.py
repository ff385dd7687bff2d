"""`fencepost serve`: what keeps it from starting, what it refuses, its upkeep, and that it can be stopped."""

from __future__ import annotations

import http.client
import os
import re
import signal
import socket
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests import forking
from tests.forking import ForkedProcess
from webapp.cli import main
from webapp.commands._start import is_loopback, settings_for
from webapp.commands.serve import command


@pytest.fixture(autouse=True)
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("FENCEPOST_DATA", str(tmp_path))
    monkeypatch.delenv("FENCEPOST_TOKEN", raising=False)
    return tmp_path


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.5", "example.org"])
def test_only_loopback_is_served_without_a_token(host: str) -> None:
    done = CliRunner().invoke(command, ["--host", host, "--port", "0"])
    assert done.exit_code == 2
    assert "FENCEPOST_TOKEN" in done.output and "FENCEPOST_ACCOUNTS=1" in done.output


def test_a_token_opens_other_addresses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FENCEPOST_TOKEN", "s3cret-s3cret-s3cret")
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
        environ = {**os.environ, "FENCEPOST_DATA": str(data)}
        process = forking.command("serve", "--no-examples", "--port", str(port), environ=environ)
        said, _ = process.communicate()
    assert (process.returncode, "another PORT" in said) == (2, True)


@pytest.mark.parametrize(
    ("url", "code", "reason"),
    [
        ("postgresql+psycopg://nobody@127.0.0.1:1/none", 1, "Error: the database cannot be used: connection"),
        ("sqlite:///{folder}/text.sqlite3", 1, "Error: the database cannot be used: file is not a database"),
    ],
)
@pytest.mark.parametrize("command", ["serve --no-examples --port 0", "work"])
def test_a_database_that_cannot_be_used_is_said_in_words(
    data: Path, command: str, url: str, code: int, reason: str
) -> None:
    (data / "text.sqlite3").write_text("not a database\n" * 100)
    environ = {**os.environ, "FENCEPOST_DATA": str(data), "FENCEPOST_DATABASE": url.format(folder=data)}
    process = forking.command(*command.split(), environ=environ)
    said, _ = process.communicate()
    assert process.returncode == code and reason in said and "Traceback" not in said, said


@contextmanager
def serving(data: Path, **settings: str) -> Iterator[tuple[ForkedProcess, str]]:
    """A server in a process of its own, and where it is, as it says; it must end as it should when interrupted."""
    environ = {**os.environ, "FENCEPOST_DATA": str(data), **settings}
    with forking.command("serve", "--port", "0", "--no-examples", environ=environ) as process:
        found = re.search(r"http://(127\.0\.0\.1:\d+)", process.stdout.readline())
        assert found
        try:
            yield process, found[1]
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGINT)
            assert process.wait(120) == 0


def test_interrupting_stops_it_at_once(data: Path) -> None:
    with serving(data) as (process, _):
        process.send_signal(signal.SIGINT)
        assert process.wait(120) == 0
        assert process.stdout.read() == "stopped\n"


@pytest.mark.parametrize(
    ("words", "settings", "number"),
    [
        (["serve", "--port", "0"], {}, signal.SIGTERM),
        (["serve", "--port", "0"], {}, signal.SIGINT),
        (["serve"], {"FENCEPOST_ROLE": "worker"}, signal.SIGTERM),
        (["work", "--stay"], {}, signal.SIGTERM),
        (["work", "--stay"], {}, signal.SIGINT),
        (["work", "--stay"], {"FENCEPOST_BROKER": "redis://127.0.0.1:1/0"}, signal.SIGINT),
    ],
)
def test_a_start_is_stopped_like_a_server(
    data: Path, words: list[str], settings: dict[str, str], number: signal.Signals
) -> None:
    """It waits for a database that accepts a connection and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"postgresql+psycopg://nobody@127.0.0.1:{silent.getsockname()[1]}/none"
        environ = {**os.environ, "FENCEPOST_DATA": str(data), "FENCEPOST_DATABASE": url, **settings}
        with forking.command(*words, environ=environ) as process:
            connection, _ = silent.accept()
            process.send_signal(number)
            try:
                assert (process.wait(120), process.stdout.read()) == (0, "stopped\n")
            finally:
                process.kill()
                connection.close()


def test_an_upload_that_is_too_large_is_refused_before_it_is_read(data: Path) -> None:
    """In the server's own words: the app is never asked."""
    with serving(data, FENCEPOST_MAX_UPLOAD="1") as (_, host):
        connection = http.client.HTTPConnection(host, timeout=120)
        connection.putrequest("POST", "/api/dumps")
        connection.putheader("Content-Length", str(2**31))
        connection.endheaders()
        answer = connection.getresponse()
        connection.close()
    assert answer.status == 413


def asked(host: str, method: str, path: str, body: str = "", **headers: str) -> int:
    sent = {"Content-Type": "application/x-www-form-urlencoded"} | {k.replace("_", "-"): v for k, v in headers.items()}
    with closing(http.client.HTTPConnection(host, timeout=120)) as connection:
        connection.request(method, path, body, sent)
        return connection.getresponse().status


def test_what_a_proxy_says_of_the_browser_comes_to_the_app(data: Path) -> None:
    """Or all who come by a proxy share their wrong passwords, and are taken for this machine's own browser."""
    with serving(data) as (_, host):
        assert asked(host, "GET", "/machine-logs") == 200
        assert asked(host, "GET", "/machine-logs", X_Forwarded_For="192.0.2.7") == 404
    for login in ({"FENCEPOST_ACCOUNTS": "1"}, {"FENCEPOST_TOKEN": "a token of sixteen"}):
        with serving(data, FENCEPOST_PROXIES="127.0.0.1", **login) as (_, host):
            form = "account=ada&password=wrong&token=wrong"
            wrong = [asked(host, "POST", "/login", form, X_Forwarded_For="192.0.2.7") for _ in range(11)]
            assert wrong == [422] * 10 + [429]
            assert asked(host, "POST", "/login", form, X_Forwarded_For="192.0.2.8") == 422


def test_a_token_that_is_soon_guessed_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FENCEPOST_TOKEN", "s3cret")
    result = CliRunner().invoke(main, ["serve"])
    assert result.exit_code == 2 and "16 characters" in result.output


UPKEEP = """
import logging, sys, threading
from pathlib import Path
import sqlalchemy as sa
from webapp import app
from webapp.config import Settings
from webapp.store.jobs import export_jobs
from webapp.store.sessions import deletion

purged, tried = threading.Event(), []

def warm(*_):
    raise sa.exc.OperationalError("SELECT", {}, Exception("the database is locked"))

def purge(engine):
    tried.append(engine)
    if len(tried) == 1:
        raise sa.exc.InterfaceError("DELETE", {}, Exception("the connection is closed"))
    purged.set()

logging.disable()
app._EVERY, deletion.purge, export_jobs.purge = 0.01, purge, warm
app.start_upkeep(sa.create_engine("sqlite://"), Settings(data=Path(sys.argv[1]), database="sqlite://"), int)
print(purged.wait(60))
"""


def test_no_task_is_ended_by_an_error(tmp_path: Path) -> None:
    """Of another task, or of its own. Tasks go on for ever: they are those of another process."""
    assert forking.script(UPKEEP, str(tmp_path), text=True).communicate()[0] == "True\n"


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
