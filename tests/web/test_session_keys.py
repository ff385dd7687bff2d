"""What names the sessions of a log: shown before it is stored, chosen on the page, changed afterwards."""

from __future__ import annotations

import gzip
import io
import json
import zipfile
from collections.abc import Callable
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient

from webapp.extensions import db
from webapp.store.jobs import worker
from webapp.web import worker_process
from webapp.web.dumps import uploads

PARTIAL = {"HX-Request-Type": "partial"}


def log(**names: Any) -> bytes:
    lines = []
    for number in range(6):
        answer = {"choices": [{"message": {"role": "assistant", "content": f"answer {number}"}}]}
        about = {key: name(number) for key, name in names.items()}
        request = {"messages": [{"role": "user", "content": str(number)}]}
        lines.append(json.dumps({**about, "request": request, "response": answer}))
    return "\n".join(lines).encode()


UNSURE = log(metadata=lambda n: {"conversation_id": f"c{n // 2}"}, trace_id=lambda n: f"<t{n // 3}>")
SURE = log(chat_id=lambda n: f"c{n // 2}")


Read = Callable[[int], Any]


@pytest.fixture(autouse=True)
def read(app: Flask, client: FlaskClient, monkeypatch: pytest.MonkeyPatch) -> Read:
    """Does what a request left to the worker, if it was woken for it, and answers the job; here, without a process."""
    woken: list[object] = []
    monkeypatch.setattr(worker_process.WorkerSupervisor, "wake", lambda supervisor: woken.append(supervisor))

    def read(number: int) -> Any:
        assert woken
        with app.app_context():
            worker.work(db.engine, app.config["SETTINGS"])
        return client.get(f"/api/jobs/{number}").json["job"]

    return read


def send(client: FlaskClient, content: bytes, **form: str) -> Any:
    return client.post("/dumps", data={"file": (io.BytesIO(content), "log.jsonl"), **form}, headers=PARTIAL)


def names(client: FlaskClient) -> list[str]:
    return sorted(session["id"] for session in client.get("/api/sessions").json["sessions"])


def test_keys_that_differ_are_shown_before_anything_is_stored(client: FlaskClient) -> None:
    row = send(client, UNSURE).text
    assert "6 entries. Which key names their session?" in row and "which sessions?" in row
    assert 'value="metadata.conversation_id" checked' in row and "3 sessions" in row
    assert 'value="trace_id"' in row and "2 sessions" in row and "1 session<" in row
    assert names(client) == [] and client.get("/api/jobs/1").json["job"]["state"] == "held"
    assert 'value="trace_id"' in client.get("/dumps").text


@pytest.mark.parametrize(
    ("form", "expected"),
    [
        ({"key": "metadata.conversation_id"}, ["c0", "c1", "c2"]),
        ({"key": "trace_id"}, ["<t0>", "<t1>"]),
        ({"key": "trace_id", "other": "request.messages"}, ["log"]),
        ({"key": "-"}, ["log"]),
    ],
)
def test_the_chosen_key_names_the_sessions(
    client: FlaskClient, read: Read, form: dict[str, str], expected: list[str]
) -> None:
    send(client, UNSURE)
    assert client.post("/dumps/jobs/1/sessions", data=form).status_code == 303
    assert read(1)["state"] == "done"
    assert names(client) == expected
    assert client.post("/dumps/jobs/1/sessions", data=form).status_code == 303
    assert names(client) == expected


def test_a_held_file_is_discarded(client: FlaskClient) -> None:
    send(client, UNSURE)
    assert "Cancelled before it was read" in client.post("/tasks/1/cancel?row=dump", headers=PARTIAL).text
    assert client.get("/api/jobs/1").json["job"]["state"] == "cancelled"
    assert names(client) == []


def test_a_key_that_is_sure_is_shown_where_it_is_asked_for(client: FlaskClient) -> None:
    assert "Which key names their session?" in send(client, SURE, ask="1").text
    assert 'id="dump-1"' in send(client, SURE).text
    assert names(client) == ["c0", "c1", "c2"]
    page = client.get("/dumps/1").text
    assert 'Sessions by</dt><dd class="mono">chat_id' in page


def test_the_first_turns_are_shown_before_anything_is_stored(client: FlaskClient, read: Read) -> None:
    """Of a format without a choice of keys, too; without scripts its button leads on."""
    request = b'{"parts": [{"content": "plan?", "part_kind": "user-prompt"}], "kind": "request"}'
    response = b'{"parts": [{"content": "{<b>}", "part_kind": "text"}], "kind": "response"}'
    page = send(client, request + b"\n" + response, ask="1").text
    assert "Which key names their session?" not in page
    assert '<span class="mono">plan?</span>' in page
    assert "{&lt;b&gt;}" in page
    assert names(client) == []
    assert client.post("/dumps/jobs/1/sessions").status_code == 303
    assert read(1)["state"] == "done"
    assert len(names(client)) == 1


def test_a_key_is_told_with_the_file_and_changed_afterwards(client: FlaskClient, read: Read) -> None:
    assert 'id="dump-1"' in send(client, UNSURE, session_key="trace_id").text
    assert names(client) == ["<t0>", "<t1>"]
    assert client.post("/dumps/1/again", data={"session_key": "metadata.conversation_id"}).status_code == 302
    read(1)
    assert names(client) == ["c0", "c1", "c2"]
    assert "metadata.conversation_id" in client.get("/dumps/1").text


def test_the_api_takes_a_key_and_asks_nobody(client: FlaskClient) -> None:
    answer = client.post("/api/dumps?filename=log.jsonl&session_key=trace_id", data=UNSURE)
    assert (answer.status_code, answer.json["sessions"]) == (201, ["<t0>", "<t1>"])
    again = client.post("/api/dumps?filename=log.jsonl", data=UNSURE)
    assert (again.status_code, len(again.json["sessions"])) == (200, 2)


def archive(**members: bytes) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as target:
        for name, content in members.items():
            target.writestr(f"{name}.jsonl", content)
    return out.getvalue()


BY_CHAT = log(chat_id=lambda n: f"k{n // 2}")


def test_the_members_of_an_archive_are_shown_before_anything_is_stored(client: FlaskClient) -> None:
    row = send(client, archive(a=UNSURE, b=BY_CHAT)).text
    assert "12 entries in 2 files. Which key names their session?" in row and "which sessions?" in row
    assert 'value="" checked' in row and "The file's own sessions" in row and "6 sessions" in row
    assert "<code>a.jsonl</code>: 3 sessions" in row and "<code>b.jsonl</code>: 3 sessions" in row
    assert 'value="trace_id"' in row and names(client) == []


@pytest.mark.parametrize(
    ("form", "expected"),
    [
        ({"key": ""}, ["c0", "c1", "c2", "k0", "k1", "k2"]),
        ({"key": "", "other": "chat_id"}, ["a", "k0", "k1", "k2"]),
    ],
)
def test_the_chosen_key_names_the_sessions_of_members(
    client: FlaskClient, read: Read, form: dict[str, str], expected: list[str]
) -> None:
    send(client, archive(a=UNSURE, b=BY_CHAT))
    client.post("/dumps/jobs/1/sessions", data=form)
    assert read(1)["state"] == "done"
    assert names(client) == expected


def test_an_archive_whose_members_are_sure_is_read(client: FlaskClient) -> None:
    assert 'id="dump-1"' in send(client, archive(a=SURE, b=BY_CHAT)).text
    assert names(client) == ["c0", "c1", "c2", "k0", "k1", "k2"]
    assert 'Sessions by</dt><dd class="mono">chat_id' in client.get("/dumps/1").text


def test_a_packed_log_is_asked_about_by_its_beginning(client: FlaskClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uploads, "LOOKED_AT", len(UNSURE) - 10)
    assert "Which key names their session?" in send(client, gzip.compress(UNSURE)).text
    assert names(client) == []
