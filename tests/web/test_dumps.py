"""The doors of dumps: small files at once, large ones as jobs, cut bodies, full disks, mappings."""

from __future__ import annotations

import gzip
import io
import json
import re
import sqlite3
import zipfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from flask import Flask, request
from flask.testing import FlaskClient

from tests.until import until
from tests.web.pages import entry, windlass
from webapp.dumps import sqlite_tables
from webapp.store.db import locks
from webapp.store.ingest import dump_files
from webapp.store.jobs.worker import WORKER
from webapp.web import worker_process as supervised
from webapp.web.dumps import uploads
from webapp.web.worker_process import of

Post = Callable[..., Any]
Read = Callable[[int], dict[str, Any]]
PARTIAL = {"HX-Request-Type": "partial"}
OWN = b"".join(b'{"run": {"id": "r%d"}, "out": {"text": "%d {}"}}\n' % (n // 2, n) for n in range(6))


@pytest.fixture
def read(client: FlaskClient, work: Callable[[], None]) -> Read:
    """Does what a request left to the worker, and answers the job."""

    def read(number: int) -> dict[str, Any]:
        work()
        job: dict[str, Any] = client.get(f"/api/jobs/{number}").json["job"]
        return job

    return read


def send(client: FlaskClient, *files: tuple[bytes, str], headers: dict[str, str] | None = None, **form: Any) -> Any:
    data = {"file": [(io.BytesIO(content), name) for content, name in files], **form}
    return client.post("/dumps", data=data, headers=headers)


def ended(client: FlaskClient, number: int) -> dict[str, Any]:
    """The job, once it has ended; whoever asks sees to it that there is a worker."""

    def job() -> Any:
        answer = client.get(f"/api/jobs/{number}").json["job"]
        return answer if answer["state"] not in ("queued", "running") else None

    return until(job)


def test_a_small_file_is_read_within_the_request(client: FlaskClient) -> None:
    answer = send(client, (windlass("s1", entry("hi")), "a.json"), headers=PARTIAL)
    assert answer.status_code == 200 and 'id="dump-1"' in answer.text and "hx-trigger" not in answer.text
    again = send(client, (windlass("s1", entry("hi")), "a.json"), headers=PARTIAL)
    assert "Already imported; nothing changed." in again.text


def test_without_scripts_the_form_leads_back_to_the_list(client: FlaskClient) -> None:
    answer = send(client, (windlass("s1", entry("hi")), "a.json"), (windlass("s2", entry("hi")), "b.json"))
    assert answer.status_code == 302
    page = client.get(answer.location).text
    assert "a.json: 1 session ingested." in page and 'href="/dumps/2"' in page
    assert send(client).status_code == 422


def test_a_refused_file_is_a_row_that_says_what_to_do(client: FlaskClient) -> None:
    answer = send(client, (b"\x89PNG\r\n\x1a\n", "a.png"), headers=PARTIAL)
    assert answer.status_code == 415 and "--format" in answer.text and 'id="dump-1"' in answer.text
    whole = send(client, (b'{"session_id": "s", "entries": 5}', "b.json"))
    assert whole.status_code == 422 and "entries" in whole.text and "<html" in whole.text


def test_a_large_file_is_read_behind_the_page(client: FlaskClient, monkeypatch: pytest.MonkeyPatch, read: Read) -> None:
    monkeypatch.setattr(uploads, "AT_ONCE", 100)
    answer = send(client, (windlass("s1", *(entry(f"turn {i}") for i in range(50))), "a.json"), headers=PARTIAL)
    assert answer.status_code == 200 and 'id="job-1"' in answer.text
    assert 'hx-trigger="every 1s"' in answer.text and "Cancel" in answer.text
    job = read(1)
    assert (job["state"], job["result"]["sessions"], job["result"]["turns"]) == ("done", 1, 50)
    row = client.get("/tasks/1?row=dump", headers=PARTIAL).text
    assert 'id="dump-1"' in row and "hx-trigger" not in row
    assert client.get("/tasks/1?row=dump").location == "/dumps/1"
    assert client.get("/dumps").text.count("a.json") == 1


def test_the_api_leaves_a_file_to_the_worker_where_asked(client: FlaskClient, read: Read) -> None:
    answer = client.post("/api/dumps?background=1&filename=a.json", data=windlass("s1", entry("hi")))
    assert answer.status_code == 202
    assert answer.headers["Location"] == answer.json["job"]["url"] == "/api/jobs/1"
    job = read(1)
    assert (job["state"], job["dump"], job["filename"]) == ("done", 1, "a.json")
    assert client.delete("/api/jobs/1").json["job"]["state"] == "done"
    assert client.get("/api/jobs/2").status_code == 404


def packed_rows(path: Path) -> dict[str, bytes]:
    """A SQLite file, as it is, compressed, and in an archive."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE t (role TEXT, content TEXT)")
        connection.execute("INSERT INTO t VALUES ('assistant', '{}')")
        connection.commit()
    content, archive = path.read_bytes(), io.BytesIO()
    with zipfile.ZipFile(archive, "w") as members:
        members.writestr("a.db", content)
    return {"a.db": content, "a.db.gz": gzip.compress(content), "a.zip": archive.getvalue()}


def test_no_request_makes_rows_of_what_a_library_reads(
    app: Flask, client: FlaskClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The worker does, which may die over it."""
    monkeypatch.setattr(sqlite_tables, "_fill", lambda *_: pytest.fail("it was read in a request"))
    for number, (name, content) in enumerate(packed_rows(tmp_path / "a.db").items()):
        answer = client.post(f"/api/dumps?filename={name}", data=content)
        assert answer.status_code == 202, answer.json
        assert client.get(answer.json["job"]["url"]).json["job"]["filename"] == name
        assert send(client, (content, name)).status_code == 302
        assert len(list(dump_files.incoming(app.config["SETTINGS"].data).glob("job-*"))) == 2 * number + 2


def test_a_job_that_another_server_left_is_taken_over(app: Flask, client: FlaskClient, worker_process: None) -> None:
    """While another server's worker is at it there is none of ours; once that is gone, without being asked."""
    with locks.hold_file(app.config["SETTINGS"].data, WORKER):
        answer = client.post("/api/dumps?background=1&filename=a.json", data=windlass("s1", entry("hi")))
        assert answer.status_code == 202
        assert of(app)._child is None
    assert ended(client, 1)["state"] == "done"


def test_a_job_is_cancelled_from_its_row(client: FlaskClient, monkeypatch: pytest.MonkeyPatch, read: Read) -> None:
    monkeypatch.setattr(uploads, "AT_ONCE", 1)
    send(client, (windlass("s1", entry("hi")), "a.json"))
    row = client.post("/tasks/1/cancel?row=dump", headers=PARTIAL).text
    assert "cancelled" in row and "data-cancel" not in row
    assert read(1)["state"] == "cancelled"
    assert "cancelled" in client.get("/dumps").text
    assert client.get("/api/sessions").json["total"] == 0


def test_a_dump_has_a_page_and_is_read_again(client: FlaskClient, post: Post, read: Read) -> None:
    body = windlass("s1", entry("hi"), *([7] * 60))
    sha256 = post(body, "a.json").json["dump"]["sha256"]
    page = client.get(f"/dumps/{sha256}").text
    assert sha256 in page and "windlass" in page and page.count("<li><span") == 60
    assert 'href="/sessions/s1"' in page and f"/dumps/{sha256}/file" in page
    assert client.post("/dumps/1/again").location == f"/dumps/{sha256}"
    assert read(1)["result"]["created"] is False
    assert client.get("/dumps/999").status_code == 404


def test_older_dumps_are_on_further_pages(client: FlaskClient, post: Post, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("webapp.web.dumps.dump_pages.ROWS_A_PAGE", 2)
    for number in range(5):
        post(windlass(f"s{number}", entry("hi")), f"d{number}.json")
    seen, url = [], "/dumps"
    while url:
        page = client.get(url).text
        seen += re.findall(r">(d\d\.json)<", page)
        found = re.search(r'rel="next" href="([^"]+)"', page)
        url = found.group(1) if found else ""
    assert seen == ["d4.json", "d3.json", "d2.json", "d1.json", "d0.json"]


def test_a_mapping_is_made_over_the_dump_and_used(client: FlaskClient, read: Read) -> None:
    row = send(client, (OWN, "own.jsonl"), headers=PARTIAL)
    assert row.status_code == 415 and 'href="/mappings/make?dump=1"' in row.text
    editor = client.get("/mappings/make?dump=1").text
    assert 'name="raw" value="$.out.text"' in editor and 'name="session" value="$.run.id"' in editor
    assert "0 {}" in editor and "<code>" in editor
    partial = client.get("/mappings/make?dump=1&raw=$.run.id", headers=PARTIAL).text
    assert "<html" not in partial and "r0" in partial
    assert "cannot be read" in client.get("/mappings/make?dump=1&raw=$.[", headers=PARTIAL).text
    assert 'name="name" value="own"' in editor, "named after the file"
    refused = client.post("/mappings", data={"dump": "1", "name": "", "raw": "$.out.text", "session": "$.run.id"})
    assert refused.status_code == 422 and 'name="raw" value="$.out.text"' in refused.text and "r0" in refused.text
    form = {"dump": "1", "name": "mine", "raw": "$.out.text", "session": "$.run.id"}
    assert client.post("/mappings", data=form).location == "/dumps"
    assert read(1)["result"]["sessions"] == 3
    assert [session["id"] for session in client.get("/api/sessions").json["sessions"]] == ["r2", "r1", "r0"]
    assert "raw=$.out.text" in client.get("/dumps/1").text


def test_a_file_of_no_known_shape_alone_leads_to_its_mapping(client: FlaskClient) -> None:
    assert send(client, (OWN, "own.jsonl")).location == "/mappings/make?dump=1"
    assert "No format knows own.jsonl: name its fields." in client.get("/mappings/make?dump=1").text
    both = send(client, (OWN, "own.jsonl"), (b'{"session_id": "s"}', "not.json"))
    assert both.status_code == 415 and both.text.count('id="dump-1"') == 1, "a row once"


@pytest.mark.parametrize(
    ("name", "sent", "advice"),
    [
        (
            "notes.txt",
            b"It is free until noon, she said.\nSo we wait.",
            "A text that is one response: --format responses",
        ),
        ("ops.jsonl", b'{"ops": [{"op": "add", "path": "", "value": 1}]}', "log astream_events instead"),
        ("bot.log", b"2026-01-01 12:00:00 INFO it began\n2026-01-01 12:00:01 INFO it ended", "such records are read"),
    ],
)
def test_a_refusal_says_on_the_page_what_the_terminal_says(
    client: FlaskClient, name: str, sent: bytes, advice: str
) -> None:
    both = send(client, (sent, name), (b'{"session_id": "s"}', "not.json"))
    assert advice in both.text and "if it has one" not in both.text.partition("not.json")[0]


def test_a_client_maps_what_was_not_recognised(client: FlaskClient, read: Read) -> None:
    """From the dump's number in the 415 over a guess and a look at the first turns to a job that reads it."""
    refused = client.post("/api/dumps?filename=own.jsonl", data=OWN)
    assert (refused.status_code, refused.json["error"]["code"]) == (415, "unknown_format")
    place = f"/api/dumps/{refused.json['dump']['id']}/mapping"
    guess = client.get(place).json
    assert guess["mapping"]["raw"] == "$.out.text" and {"path": "$.run.id", "text": "r0"} in guess["paths"]
    look = client.post(place, json={"mapping": guess["mapping"], "dry_run": True}).json["preview"]
    assert look["records"][0] == {"session": "r0"} and look["records"][1]["kind"] == "response"
    assert client.get("/api/sessions").json["sessions"] == []
    for bad in ({}, {"mapping": []}, {"mapping": {"raw": "$["}}, {"mapping": {"raw": 1}}):
        assert client.post(place, json=bad).json["error"]["code"] == "bad_mapping"
    job = client.post(place, json={"mapping": guess["mapping"]})
    assert (job.status_code, job.location) == (202, job.json["job"]["url"])
    assert read(job.json["job"]["id"])["result"]["sessions"] == 3


def test_a_saved_mapping_is_chosen_and_deleted(client: FlaskClient) -> None:
    fields = {"raw": "$.out.text", "session": "$.run.id"}
    assert client.post("/mappings", data={"name": "mine", **fields}).status_code == 302
    assert "mine" in client.get("/mappings").text
    assert send(client, (OWN, "own.jsonl"), headers=PARTIAL, map="mine").status_code == 200
    more = client.post("/api/dumps?map=mine", data=OWN.replace(b"r0", b"r9"))
    assert more.status_code == 201 and "r9" in more.json["sessions"]
    assert client.post("/api/dumps?map=other", data=OWN).status_code == 400
    assert client.post("/mappings/1/delete").status_code == 302
    assert client.get("/mappings/make?saved=1").status_code == 404


def test_an_empty_log_is_kept_so_that_it_can_be_read(client: FlaskClient) -> None:
    number = client.post("/api/dumps?filename=empty.json", data=b"").get_json()["dump"]["id"]
    assert client.get(f"/dumps/{number}/file").data == b""
    assert client.get(f"/api/dumps/{number}/mapping").get_json()["paths"] == []
    assert client.get(f"/mappings/make?dump={number}").status_code == 200


def test_a_mapping_over_a_stored_file_that_is_cut_says_so(app: Flask, client: FlaskClient) -> None:
    assert send(client, (OWN, "own.jsonl")).location == "/mappings/make?dump=1"
    (kept,) = dump_files.incoming(app.config["SETTINGS"].data).parent.rglob("*.zst")
    kept.write_bytes(kept.read_bytes()[:-8])
    body = {"mapping": {"raw": "$.out.text"}, "dry_run": True}
    answers = [client.get("/api/dumps/1/mapping"), client.post("/api/dumps/1/mapping", json=body)]
    for answer in (*answers, client.get("/mappings/make?dump=1")):
        assert answer.status_code == 422 and "The stored file is damaged" in answer.text


@pytest.mark.parametrize("form", [{"name": "", "raw": "$.a"}, {"name": "x", "raw": ""}, {"name": "x", "raw": "$["}])
def test_a_bad_mapping_is_refused_in_words(client: FlaskClient, form: dict[str, str]) -> None:
    answer = client.post("/mappings", data=form)
    assert answer.status_code == 422 and 'role="alert"' in answer.text


def test_an_upload_lies_beside_the_database_and_goes_away(client: FlaskClient, app: Flask, tmp_path: Path) -> None:
    with app.test_request_context("/dumps", method="POST"):
        stream = request._get_file_stream()
        assert Path(stream.name).parent == dump_files.incoming(tmp_path)
        stream.close()
    send(client, (b"x" * 10, "a.bin"))
    assert list(dump_files.incoming(tmp_path).iterdir()) == []


class Cut:
    """A body that ends before its time, as servers hand it on."""

    def __init__(self, data: bytes, error: Exception | None) -> None:
        self._file, self._error = io.BytesIO(data), error

    def read(self, size: int = -1) -> bytes:
        data = self._file.read(size)
        if not data and self._error is not None:
            raise self._error
        return data


@pytest.mark.parametrize(
    ("error", "more"),
    [
        (None, {}),
        (None, {"wsgi.input_terminated": True}),  # as gunicorn says
        (OSError("chunk cut"), {}),
        (ConnectionResetError("reset"), {}),
    ],
)
def test_a_body_that_ends_early_is_refused_whole(
    client: FlaskClient, tmp_path: Path, error: Exception | None, more: dict[str, Any]
) -> None:
    body = windlass("s1", *(entry(f"turn {i}") for i in range(50)))
    environ = {"wsgi.input": Cut(body[:1000], error), "CONTENT_LENGTH": str(len(body)), **more}
    answer = client.post("/api/dumps", environ_overrides=environ)
    assert answer.status_code == 400 and "Send it again" in answer.json["error"]["message"]
    assert client.get("/api/sessions").json["total"] == 0
    assert [path for path in dump_files.incoming(tmp_path).parent.rglob("*") if path.is_file()] == []


MUTE = b'{"messages": [{"role": "user", "content": "Say it."}, {"role": "assistant", "content": ""}]}\n' * 3


def test_a_dump_without_answers_is_marked_on_its_row_and_in_the_api(client: FlaskClient) -> None:
    sent = client.post("/api/dumps?filename=mute.jsonl&format=openai", data=MUTE)
    assert sent.status_code == 201, sent.json
    assert sent.json["dump"]["answers_missing"] is True
    assert sent.json["problems"][0]["code"] == "answers_missing"
    page = client.get("/dumps").text
    assert 'id="dump-1" class="missing"' in page and "answers missing</span>" in page
    again = client.post("/api/dumps?filename=mute.jsonl&format=openai", data=MUTE)
    assert (again.status_code, again.json["dump"]["answers_missing"]) == (200, True)
    said = client.post("/api/dumps?filename=a.json", data=windlass("s1", entry("hi")))
    assert said.json["dump"]["answers_missing"] is False and client.get("/dumps").text.count("answers missing") == 1


SAID = {"role": "user", "content": "a"}
DECODED = {"role": "assistant", "content": [{"type": "tool_use", "id": "c", "name": "f", "input": {}}]}


@pytest.mark.parametrize(
    ("messages", "missing", "words"),
    [
        (
            [SAID, DECODED],
            ["arguments_written", "declared", "cap", "stop", "host", "tokens_in", "tokens_out", "tokens_reasoning"],
            "arguments as the model wrote them, declared tools and response format, token cap",
        ),
        ([SAID], None, "not known: no response was read"),
    ],
)
def test_a_dump_says_which_facts_no_response_of_it_has(
    post: Post, client: FlaskClient, messages: list[Any], missing: list[str] | None, words: str
) -> None:
    dump = post(2 * (json.dumps({"messages": messages}).encode() + b"\n"), "a.jsonl").json["dump"]
    assert dump["not_in_log"] == missing
    assert words in client.get(f"/dumps/{dump['id']}").text


def test_a_database_that_restarts_does_not_end_the_watch_over_jobs(
    client: FlaskClient, worker_process: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The database refuses the first time that it is asked for work."""
    asked, real = [], supervised.is_work_free

    def refusing(*about: Any) -> bool:
        asked.append(1)
        if len(asked) == 1:
            raise sa.exc.OperationalError("SELECT", {}, OSError("the server closed the connection"))
        return real(*about)

    monkeypatch.setattr(supervised, "is_work_free", refusing)
    answer = client.post("/api/dumps?background=1&filename=a.json", data=b'{"session_id": "s", "entries": []}')
    assert answer.status_code == 202
    assert ended(client, 1)["state"] in ("done", "failed") and len(asked) > 1
