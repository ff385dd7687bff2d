"""The recorder against a real server: what arrives, what it survives, what it costs; its host comes to no harm."""

from __future__ import annotations

import contextlib
import http.server
import itertools
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.browser.conftest import serve, stop
from tests.ports import free_port
from tests.until import until
from webapp import client
from webapp import client as recorder_module
from webapp.client import Recorder

ROOT = Path(__file__).resolve().parents[2]
DEADLINE = 120.0
"""seconds that a test waits for what must come"""


def get(url: str) -> Any:
    with urllib.request.urlopen(url, timeout=DEADLINE) as answer:
        return json.load(answer)


def turns(url: str, session: str) -> list[dict[str, Any]]:
    return list(get(f"{url}/api/session/{session}?limit=500")["turns"])


def known(url: str) -> list[str]:
    return [line["id"] for line in get(f"{url}/api/sessions?limit=200")["sessions"]]


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    process, url = serve(tmp_path_factory.mktemp("data"), "--no-examples")
    yield url
    stop(process)


@pytest.fixture
def spool(tmp_path: Path) -> Path:
    return tmp_path / "spool"


def test_everything_that_is_recorded_arrives_while_the_program_runs(url: str, spool: Path) -> None:
    with Recorder("all kinds", url=url, spool=spool, home="direct", title="Demo", every=0.05) as recorder:
        recorder.prompt("Do it.", role="system", tools=[{"name": "run", "input_schema": {"required": ["code"]}}])
        recorder.response('{"a": 1', model="m1", phase="plan", round=2, tokens_in=7, tokens_out=3, cost=0.5, seed=11)
        recorder.error("not JSON")
        first = until(lambda: "all kinds" in known(url) and turns(url, "all%20kinds"), "the session")
        assert len(first) <= 3
        recorder.tool_call("run", {"code": "1"})
        recorder.tool_result("1", name="run")
        recorder.event(seconds=3)
        assert recorder.flush(DEADLINE)
        assert recorder.last_error is None
    found = get(f"{url}/api/session/all%20kinds")
    session, entries = found["session"], found["turns"]
    assert [turn["kind"] for turn in entries] == ["prompt", "response", "error", "tool_call", "tool_result", "event"]
    assert (session["title"], session["home_profile"], session["revision"]) == ("Demo", "direct", 1)
    assert session["failed"] == 1
    response = get(f"{url}/api/session/all%20kinds/turns/1")
    assert (response["raw"], response["trace"]["profile"]) == ('{"a": 1', "direct")
    call = get(f"{url}/api/session/all%20kinds/turns/3")
    assert (call["raw"], call["contract"]["state"]) == ('{"code": "1"}', "kept")
    (document,) = [get(f"{url}/api/session/all%20kinds/dump")]
    assert document["entries"][1]["seed"] == 11
    assert (recorder.dropped, list(spool.iterdir())) == (0, [])


def test_ten_threads_at_once(url: str, spool: Path) -> None:
    with Recorder("threads", url=url, spool=spool, every=0.05) as recorder:

        def work(number: int) -> None:
            for step in range(40):
                recorder.response(json.dumps([number, step]))

        with ThreadPoolExecutor(10) as pool:
            list(pool.map(work, range(10)))
        assert recorder.flush(DEADLINE)
    entries = get(f"{url}/api/session/threads/dump")["entries"]
    said = [tuple(json.loads(entry["text"])) for entry in entries]
    assert len(said) == 400
    assert sorted(said) == [(number, step) for number in range(10) for step in range(40)]
    assert all([step for by, step in said if by == number] == list(range(40)) for number in range(10))
    assert recorder.dropped == 0


def test_a_server_that_is_away_and_comes_back(spool: Path, tmp_path: Path) -> None:
    port = free_port()
    with Recorder("patient", url=f"http://127.0.0.1:{port}", spool=spool, every=0.05) as recorder:
        recorder.response("{}")
        assert recorder.flush(DEADLINE) is False
        assert "ConnectionRefused" in str(recorder.last_error)
        recorder.response("[]")
        process, url = serve(tmp_path / "data", "--no-examples", "--port", str(port))
        try:
            until(lambda: "patient" in known(url), "the session, without being asked to flush")
            assert recorder.flush(DEADLINE)
            assert [turn["kind"] for turn in turns(url, "patient")] == ["response", "response"]
            stop(process)
            recorder.response("1")
            assert recorder.flush(DEADLINE) is False
            process, url = serve(tmp_path / "data", "--no-examples", "--port", str(port))
            assert recorder.flush(DEADLINE)
            assert len(turns(url, "patient")) == 3
        finally:
            stop(process)
    assert (recorder.dropped, list(spool.iterdir())) == (0, [])


def test_what_was_left_over_is_sent_by_the_next_recorder(url: str, spool: Path) -> None:
    for number in range(2):
        with Recorder(f"left {number}", url=f"http://127.0.0.1:{free_port()}", spool=spool) as recorder:
            recorder.response("{}")
    assert len(list(spool.iterdir())) == 2
    (spool / "0-rubbish.jsonl").write_text("no recording\n")
    with Recorder("next", url=url, spool=spool, exit_timeout=DEADLINE) as recorder:
        recorder.response("{}")
    assert {"left 0", "left 1", "next"} <= set(known(url))
    assert [path.name for path in spool.iterdir()] == ["0-rubbish.refused"]


HOST = """
import os, signal, sys
from webapp.client import Recorder
recorder = Recorder(sys.argv[2], url=sys.argv[3], spool=sys.argv[4], exit_timeout=120.0)
for number in range(20):
    recorder.response(f"[{number}]")
how = sys.argv[1]
if how == "raise":
    raise SystemError("the program is broken")
if how == "killed":
    import threading, time
    end = time.monotonic() + 60
    while time.monotonic() < end and recorder._pending:
        threading.Event().wait(0.01)
    os.kill(os.getpid(), signal.SIGKILL)
if how == "fork":
    child = os.fork()
    recorder.response("[20]")
    if not child:
        assert recorder.flush() is False
        print(recorder.dropped, flush=True)
        sys.exit(0)
    os.waitpid(child, 0)
"""


def host(how: str, session: str, url: str, spool: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", HOST, how, session, url, str(spool)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=DEADLINE)


def test_a_program_that_just_ends_or_raises_has_sent_everything(url: str, spool: Path) -> None:
    assert (host("end", "ended", url, spool).returncode, len(turns(url, "ended"))) == (0, 20)
    done = host("raise", "raised", url, spool)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == "SystemError: the program is broken"
    assert len(turns(url, "raised")) == 20
    assert list(spool.iterdir()) == []


def test_a_program_that_is_killed_has_lost_nothing(url: str, spool: Path) -> None:
    away = f"http://127.0.0.1:{free_port()}"
    assert host("killed", "killed", away, spool).returncode == -signal.SIGKILL
    (left,) = spool.iterdir()
    with left.open("a") as file:
        file.write('{"session_id": "killed", "rec')
    with Recorder("after", url=url, spool=spool) as recorder:
        assert recorder.flush(DEADLINE)
    assert len(turns(url, "killed")) == 20
    assert list(spool.iterdir()) == []


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork on this system")
def test_a_forked_process_records_nothing_and_hangs_nowhere(url: str, spool: Path) -> None:
    done = host("fork", "forked", url, spool)
    assert (done.returncode, done.stdout) == (0, "1\n")
    assert len(turns(url, "forked")) == 21


def test_an_exception_goes_through(url: str, spool: Path) -> None:
    recorder = Recorder("through", url=url, spool=spool, exit_timeout=DEADLINE)
    with pytest.raises(KeyError), recorder:
        recorder.response("{}")
        raise KeyError("mine")
    assert len(turns(url, "through")) == 1


def test_values_of_every_kind_are_taken_or_counted(url: str, spool: Path) -> None:
    circle: list[Any] = []
    circle.append(circle)
    with Recorder("values", url=url, spool=spool, title="\ud800") as recorder:
        for text in ("", "\0\ud800\u202e", b"\xff{}", None, {"a": 1}, object()):
            recorder.response(text, extra=object(), nan=float("nan"))
        recorder.event(circle)
        recorder.event({1: 2, (3, 4): 5}, model=7, session_id="another", kind="prompt")
        assert recorder.dropped == 1
        assert "Circular" in str(recorder.last_error)
        assert recorder.flush(DEADLINE)
    entries = get(f"{url}/api/session/values/dump")["entries"]
    assert [entry["text"] for entry in entries[:5]] == ["", "\0\ud800\u202e", "\udcff{}", None, '{"a": 1}']
    assert (entries[6]["kind"], entries[6]["text"], len(entries)) == ("event", '{"1": 2}', 7)
    recorder.response("late")
    assert (recorder.dropped, recorder.last_error) == (2, "RuntimeError: the recorder is closed")


class Broken(Exception):
    """What cannot even be told."""

    def __str__(self) -> str:
        raise self

    __repr__ = __str__


def test_objects_that_break_when_looked_at_break_nothing(url: str, spool: Path) -> None:
    with Recorder("broken", url=url, spool=spool) as recorder:
        recorder.response("{}", extra=Broken())
        recorder.tool_call("f", Broken())
        recorder.event("after it")
        assert recorder.dropped == 2
        assert "Broken" in str(recorder.last_error)
    assert [entry["text"] for entry in get(f"{url}/api/session/broken/dump")["entries"]] == ["after it"]


def test_a_title_that_is_none_of_a_text_is_counted(url: str, spool: Path) -> None:
    """It goes along with the first entry, which is written behind the program's back."""
    with Recorder("odd", url=url, spool=spool, title=Broken()) as recorder:  # type: ignore[arg-type]
        recorder.event("lost")
        recorder.flush(DEADLINE)
    assert recorder.dropped == 1 and "not JSON serializable" in str(recorder.last_error)


def test_a_full_queue_drops_and_does_not_wait(spool: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write, gate = Recorder._write, threading.Event()
    monkeypatch.setattr(recorder_module, "MOST_QUEUED", 10)
    monkeypatch.setattr(Recorder, "_write", lambda *given: gate.wait(DEADLINE) and write(*given))
    recorder = Recorder("full", url=f"http://127.0.0.1:{free_port()}", spool=spool)
    for _ in range(100):
        recorder.response("{}")
    assert recorder.dropped == 90  # none where it waits for the gate
    gate.set()
    recorder.close()
    (left,) = spool.iterdir()
    assert len(left.read_bytes().splitlines()) == 10


def test_a_disk_that_is_full_drops_whole_entries(url: str, spool: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Recorder("disk", url=url, spool=spool, every=60.0) as recorder:
        recorder.response("[1]")
        until(lambda: not recorder._pending, "the first entry on disk")
        assert recorder._journal
        file = recorder._journal._file

        class Full:
            """Takes three bytes and no more."""

            def write(self, data: bytes) -> int:
                if len(data) < 10:
                    raise OSError(28, "No space left on device")
                return file.write(data[: len(data) - 9])

            def __getattr__(self, name: str) -> Any:
                return getattr(file, name)

        recorder._journal._file = Full()  # type: ignore[assignment] - stands in for a file
        recorder.response("[2]")
        until(lambda: recorder.dropped == 1, "the entry to be counted")
        recorder._journal._file = file
        recorder.response("[3]")
        assert recorder.flush(DEADLINE)
    assert [entry["text"] for entry in get(f"{url}/api/session/disk/dump")["entries"]] == ["[1]", "[3]"]


def test_without_a_disk_it_keeps_the_session_in_memory(url: str, tmp_path: Path) -> None:
    nowhere = tmp_path / "a file"
    nowhere.touch()
    with Recorder("memory", url=url, spool=nowhere / "spool", home="direct") as recorder:
        recorder.response("{}")
        assert recorder.flush(DEADLINE)
        recorder.response("[]")
    assert (len(turns(url, "memory")), recorder.dropped) == (2, 0)
    with Recorder("lost", url=f"http://127.0.0.1:{free_port()}", spool=nowhere / "spool") as recorder:
        recorder.response("{}")
    assert recorder.dropped == 1


@pytest.mark.parametrize("url", ["nonsense", "http://", "http://127.0.0.1:port", "ftp://x", "http://[::1"])
def test_a_url_that_is_none_is_said_and_nothing_else_happens(url: str, spool: Path) -> None:
    with Recorder("s", url=url, spool=spool, exit_timeout=DEADLINE) as recorder:
        recorder.response("{}")
        assert recorder.flush(DEADLINE) is False
    assert recorder.last_error
    assert len(list(spool.iterdir())) == 1


def test_a_server_that_wants_a_token(tmp_path: Path, spool: Path) -> None:
    process, url = serve(tmp_path / "data", "--no-examples", FENCEPOST_TOKEN="s3cret-s3cret-s3cret")
    try:
        with Recorder("secret", url=url, spool=spool) as recorder:
            recorder.response("{}")
            assert recorder.flush(DEADLINE) is False
            assert "401" in str(recorder.last_error)
        with Recorder("secret 2", url=url, spool=spool, token="s3cret-s3cret-s3cret") as recorder:
            assert recorder.flush(DEADLINE)
        assert list(spool.iterdir()) == []
    finally:
        stop(process)


def test_a_server_that_never_answers_holds_nobody_up(spool: Path) -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        recorder = Recorder("s", url=f"http://127.0.0.1:{silent.getsockname()[1]}", spool=spool, exit_timeout=0.2)
        recorder.response("{}")
        assert recorder.flush(0.2) is False
        recorder.close()
        assert recorder._sender and recorder._sender.is_alive()  # still waits for an answer, with nobody waiting for it
    recorder._sender.join(DEADLINE)
    assert len(list(spool.iterdir())) == 1


@contextlib.contextmanager
def counting() -> Iterator[tuple[str, list[bytes]]]:
    """A server that takes everything at once: its URL, and the bodies that it got."""
    bodies: list[bytes] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            bodies.append(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(201)
            self.send_header("Content-Length", "2")
            self.end_headers()
            self.wfile.write(b"{}")

        def log_message(self, *_: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}", bodies
        server.shutdown()
        thread.join()


def test_what_is_sent_in_all_is_linear_in_the_session(spool: Path) -> None:
    """However often something is due: geometric while it grows fast, at most the rate while it grows slowly."""
    with counting() as (url, bodies):
        began = time.monotonic()
        with Recorder("cost", url=url, spool=spool, every=0.0) as recorder:
            for _ in range(600):
                recorder.response("x" * 2000)
                with recorder._wake:
                    written = recorder._wake.wait_for(lambda: not recorder._pending, DEADLINE)
                    assert written and recorder._wake.wait_for(lambda: recorder._seconds() != 0, DEADLINE)
        spent = time.monotonic() - began
    sizes = [len(body) for body in bodies]
    assert sizes == sorted(sizes)
    assert sizes[-1] > 600 * 2000
    assert len(sizes) > 10
    assert sum(sizes) < 6 * sizes[-1] + spent * recorder_module.RATE
    assert all(later.startswith(earlier) for earlier, later in itertools.pairwise(bodies))


def test_its_folder_needs_nothing_else(tmp_path: Path) -> None:
    shutil.copytree(Path(client.__file__).parent, tmp_path / "fencepost_client")
    code = (
        "import sys; sys.path.insert(0, '.'); import fencepost_client as c; print(c.Recorder, 'webapp' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-I", "-S", "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("<class 'fencepost_client.Recorder'> False\n", "")
