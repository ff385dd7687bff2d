"""`fencepost home`: the parser of stored sessions from the terminal, the question after an ingest, and kill -9."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests import forking
from tests.commands.stored import Run, runner

BROKEN = '{"a": 1,}'
NO_SUCH = 10_000


@pytest.fixture
def run(data: Path) -> Run:
    base = runner(data)
    return lambda *arguments, **environment: base(*arguments, **{"FENCEPOST_HOME": "unknown", **environment})


def chats(path: Path, count: int = 2, responses: int = 1) -> Path:
    """Sessions chat-0, chat-1 … of the service `shop`, each with a response that is not plain JSON."""
    about = {"recorded_at": "2026-01-01T10:00:00Z", "kind": "response", "service": "shop"}
    texts = [BROKEN, *(["{}"] * responses)]
    lines = [{**about, "session_id": f"chat-{n}", "text": text} for n in range(count) for text in texts]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


@pytest.fixture
def stored(run: Run, tmp_path: Path) -> Run:
    assert run("ingest", str(chats(tmp_path / "log.jsonl"))).exit_code == 0
    return run


def homes(run: Run) -> list[tuple[str, int]]:
    """The home profile and the failed responses of each session, by dumps of them."""
    lines = json.loads(run("home", "changes", "--json").stdout)
    assert isinstance(lines, list)
    question = json.loads(run("home", "which", "--json").stdout)
    return [("unknown", question["sessions"])] if question else []


def test_it_is_set_listed_and_undone(stored: Run) -> None:
    asked = json.loads(stored("home", "which", "--json").stdout)
    assert (asked["sessions"], asked["responses"], asked["not_json"], asked["counted"]) == (2, 4, 2, 2)
    numbers = {candidate["profile"]: candidate["failed"] for candidate in asked["candidates"]}
    assert numbers["direct"] == 2 and numbers["fencepost"] == 0
    nothing = {candidate["profile"]: candidate["none"] for candidate in asked["candidates"]}
    assert nothing["direct"] == 0 and nothing["vllm-hermes"] == 4
    assert "direct" in stored("home", "which", "--dump", "1").stdout
    done = stored("home", "set", "direct", "chat-0")
    assert (done.exit_code, done.stdout) == (0, "direct: 1 session; fencepost home undo 1 undoes it\n")
    assert homes(stored) == [("unknown", 1)]
    assert stored("home", "set", "direct", "--all", "--unknown").stdout.startswith("direct: 1 session;")
    assert stored("home", "which").stdout == "every parser is known, or matters to no text\n"
    lines = json.loads(stored("home", "changes", "--json").stdout)
    assert [(line["id"], line["state"], line["total"], line["finished"]) for line in lines] == [
        (2, "done", 1, 1), (1, "done", 1, 1),
    ]  # fmt: skip
    assert stored("home", "undo", "2").stdout == "1 session as before\n"
    assert homes(stored) == [("unknown", 1)]
    listed = stored("home", "changes").stdout
    assert "undoes 2" in listed and "undone" in listed
    assert stored("home", "undo", "1", "--json").exit_code == 0
    assert homes(stored) == [("unknown", 2)]


@pytest.mark.parametrize(
    ("scope", "sessions"),
    [(("--dump", "1"), 2), (("--format", "recorder"), 2), (("--q", "chat-1"), 1), (("--all",), 2)],
)
def test_each_scope(stored: Run, scope: tuple[str, ...], sessions: int) -> None:
    done = json.loads(stored("home", "set", "direct", *scope, "--json").stdout)
    assert (done["profile"], done["state"], done["total"]) == ("direct", "done", sessions)


def test_a_rule_is_remembered_listed_and_forgotten(stored: Run, tmp_path: Path) -> None:
    assert stored("home", "set", "direct", "--format", "recorder", "--remember").exit_code == 0
    assert stored("home", "rules").stdout.split() == ["1", "format", "recorder:", "direct"]
    (line,) = json.loads(stored("home", "rules", "--json").stdout)
    assert (line["kind"], line["value"], line["profile"]) == ("format", "recorder", "direct")
    assert "parser unknown" not in stored("ingest", str(chats(tmp_path / "more.jsonl", 3))).output
    assert stored("home", "forget", "1").stdout == "forgotten: format recorder\n"
    assert stored("home", "rules").stdout == ""
    assert stored("home", "forget", "1").exit_code == 1
    assert [stored("home", act, str(2**64)).exit_code for act in ("forget", "undo")] == [2, 2]


def test_a_rule_is_remembered_before_the_first_session_of_its_service(stored: Run, tmp_path: Path) -> None:
    done = stored("home", "set", "direct", "--service", "harbour", "--remember")
    said = "remembered: direct for sessions with service harbour; none is stored yet\n"
    assert (done.exit_code, done.stdout) == (0, said)
    assert "service harbour: direct" in stored("home", "rules").stdout
    assert json.loads(stored("home", "changes", "--json").stdout) == []


def test_each_refusal(stored: Run) -> None:
    for arguments, code, words in [
        (("set", "nope", "--all"), 2, "nope"),
        (("set", "direct"), 2, "Give sessions, or filters"),
        (("set", "direct", "chat-0", "--all"), 2, "Give sessions, or filters"),
        (("set", "direct", "no-such-session"), 1, "no-such-session"),
        (("set", "direct", "--service", "no-such"), 1, "no such session"),
        (("set", "direct", "--all", "--remember"), 2, "a rule is for a service or a format"),
        (("undo", str(NO_SUCH)), 1, str(NO_SUCH)),
        (("which", "--dump", str(NO_SUCH)), 1, str(NO_SUCH)),
    ]:
        done = stored("home", *arguments)
        assert done.exit_code == code and words in done.stderr
        assert homes(stored) == [("unknown", 2)]


def environment(tmp_path: Path) -> dict[str, str]:
    data = {"FENCEPOST_DATA": str(tmp_path / "data"), "FENCEPOST_DATABASE": "", "FENCEPOST_HOME": "unknown"}
    return {**data, "TERM": "dumb", "COLUMNS": "200"}


def test_an_ingest_says_how_to_name_the_parser(tmp_path: Path) -> None:
    words = ("ingest", str(chats(tmp_path / "log.jsonl")))
    with forking.command(*words, environ={**os.environ, **environment(tmp_path)}) as process:
        said, _ = process.communicate()
    assert process.returncode == 0
    assert "say which parser your program uses: --home P" in said and "fencepost home which" in said


KILLED = """
import sys
from webapp.commands import _store
from webapp.store.homes import changes

def wait(finished, total):
    if finished == 3:
        print("waiting", flush=True)
        sys.stdin.read()

with _store.engine(_store.settings()) as engine:
    changes.work(engine, 1, on_progress=wait)
"""
BEGUN = """
import sqlalchemy as sa
from webapp.commands import _store
from webapp.store.homes import changes
from webapp.store.models import Session

with _store.engine(_store.settings()) as engine:
    with engine.connect() as connection:
        ids = connection.scalars(sa.select(Session.id)).all()
    changes.begin(engine, ids, changes.home_of_name("direct"))
"""


def test_a_change_that_was_killed_shows_nothing_half_and_goes_on(run: Run, tmp_path: Path) -> None:
    """SIGKILL between two sessions: each is as before or changed, and `resume` does the rest."""
    run("ingest", str(chats(tmp_path / "log.jsonl", 6)))
    environ = {**os.environ, **environment(tmp_path)}
    with forking.script(BEGUN, environ=environ) as child:
        child.communicate()
    with forking.script(KILLED, environ=environ) as child:
        assert child.stdout.readline() == b"waiting\n"
        child.kill()
    (line,) = json.loads(run("home", "changes", "--json").stdout)
    assert (line["state"], line["finished"], line["total"]) == ("running", 3, 6)
    assert homes(run) == [("unknown", 3)]
    assert "done      6 of 6" in run("home", "resume").stdout
    (line,) = json.loads(run("home", "changes", "--json").stdout)
    assert (line["state"], line["finished"]) == ("done", 6)
    assert homes(run) == []


def test_a_change_that_cannot_be_finished_is_an_error(run: Run, tmp_path: Path) -> None:
    run("ingest", str(chats(tmp_path / "log.jsonl", 2)))
    with forking.script(
        BEGUN.replace('changes.home_of_name("direct")', 'changes.Home("gone", "told")'),
        environ={**os.environ, **environment(tmp_path)},
    ) as child:
        child.communicate()
    result = run("home", "resume")
    assert result.exit_code == 1 and "failed" in result.stdout and "gone" in result.stderr, result.output
