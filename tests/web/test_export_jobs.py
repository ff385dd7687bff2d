"""Exports in the background, in pages and in the API: asked for, followed, cancelled, downloaded in parts, removed."""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from collections.abc import Callable
from typing import Any

import pytest
import sqlalchemy as sa
from flask.testing import FlaskClient

from tests.store.made import BROKEN, CALL, entry, windlass
from webapp.extensions import db
from webapp.store.jobs import export_jobs, worker
from webapp.store.models import Task

Post = Callable[..., Any]
Work = Callable[[], None]
PARTIAL = {"HX-Request-Type": "partial"}


@pytest.fixture
def stored(client: FlaskClient, post: Post) -> FlaskClient:
    for number, name in enumerate(("a", "b", "c")):
        dump = json.dumps(windlass(name, [entry(BROKEN if number else '{"a": 1}')])).encode()
        assert post(dump, home="direct").status_code == 201
    return client


def keys(client: FlaskClient, query: str = "") -> list[str]:
    return [session["key"] for session in client.get(f"/api/sessions{query}").json["sessions"]]


def made(client: FlaskClient, query: str = "") -> dict[str, Any]:
    answer = client.post(f"/api/exports{query}")
    assert answer.status_code == 202 and answer.headers["Location"] == answer.json["export"]["url"]
    export: dict[str, Any] = answer.json["export"]
    return export


def listed(data: bytes) -> list[str]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return archive.namelist()


def test_the_api_exports_what_the_filters_leave(stored: FlaskClient, work: Work) -> None:
    export = made(stored, "?failed=1")
    assert (export["state"], export["filters"], export["ids"]) == ("queued", {"failed": 1}, None)
    assert export["of"] is None and export["file"] is None
    assert stored.get(f"{export['url']}/file").status_code == 409
    work()
    export = stored.get(export["url"]).json["export"]
    assert (export["state"], export["sessions"], export["of"]) == ("done", 2, 2)
    answer = stored.get(export["file"], buffered=True)
    assert answer.mimetype == "application/zip" and sorted(listed(answer.data)) == ["b.json", "c.json"]
    assert (len(answer.data), hashlib.sha256(answer.data).hexdigest()) == (export["bytes"], export["sha256"])
    assert answer.headers["Content-Disposition"] == "attachment; filename=sessions-1.zip"
    names = listed(stored.get("/api/sessions/dumps?failed=1", buffered=True).data)
    assert names == listed(answer.data)


def test_the_api_exports_chosen_sessions_in_their_order(stored: FlaskClient, work: Work) -> None:
    export = made(stored, "?ids=c&ids=a&ids=c")
    assert len(export["ids"]) == 2 and export["filters"] is None
    work()
    assert listed(stored.get("/exports/1/file", buffered=True).data) == ["c.json", "a.json"]
    assert stored.post("/api/exports?ids=nobody").status_code == 404
    assert stored.post("/api/exports?verdict=good").status_code == 400


def test_a_download_that_broke_off_goes_on(stored: FlaskClient, work: Work) -> None:
    url = made(stored)["url"] + "/file"
    work()
    whole = stored.get(url, buffered=True)
    assert whole.headers["Accept-Ranges"] == "bytes" and whole.headers["ETag"] == f'"{whole_sha(whole)}"'
    tag = {"If-Range": whole.headers["ETag"]}
    part = stored.get(url, headers={"Range": "bytes=100-"} | tag, buffered=True)
    assert part.status_code == 206 and part.data == whole.data[100:]
    assert part.headers["Content-Range"] == f"bytes 100-{len(whole.data) - 1}/{len(whole.data)}"
    changed = stored.get(url, headers={"Range": "bytes=100-", "If-Range": '"other"'}, buffered=True)
    assert changed.status_code == 200 and changed.data == whole.data
    assert stored.get(url, headers={"If-None-Match": whole.headers["ETag"]}, buffered=True).status_code == 304
    assert stored.get(url, headers={"If-Match": '"other"'}, buffered=True).status_code == 412
    assert stored.head(url, buffered=True).headers["Content-Length"] == str(len(whole.data))
    beyond = stored.get(url, headers={"Range": f"bytes={len(whole.data)}-"})
    assert beyond.status_code == 416 and beyond.json["error"]["code"] == "requested_range_not_satisfiable"


def whole_sha(answer: Any) -> str:
    return hashlib.sha256(answer.data).hexdigest()


def test_an_export_is_cancelled_and_says_so(stored: FlaskClient, work: Work) -> None:
    url = made(stored)["url"]
    answer = stored.delete(url)
    assert answer.status_code == 202 and answer.json["export"]["cancelled"]
    assert "cancelled" in stored.get("/exports/1").text
    work()
    assert stored.get(url).json["export"]["error"]["code"] == "cancelled"
    assert "Nothing of it was kept" in stored.get("/exports/1").text
    refused = stored.get(f"{url}/file")
    assert (refused.status_code, refused.json["error"]["code"]) == (409, "not_ready")


def test_an_export_that_was_removed_is_gone_in_words(stored: FlaskClient, work: Work) -> None:
    for how in ("page", "api", "time"):
        export = made(stored)
        work()
        if how == "page":
            assert stored.post(f"/exports/{export['id']}/remove").status_code == 303
        elif how == "api":
            assert stored.delete(export["url"]).json["export"]["state"] == "removed"
        else:
            with stored.application.app_context(), db.engine.begin() as connection:
                result = connection.scalar(sa.select(Task.result).where(Task.id == export["id"]))
                past = (result or {}) | {"expires_at": "2020-01-01T00:00:00+00:00"}
                connection.execute(sa.update(Task).where(Task.id == export["id"]).values(result=past))
            with stored.application.app_context():
                assert export_jobs.purge(db.engine, stored.application.config["SETTINGS"]) == 1
        answer = stored.get(f"{export['url']}/file")
        assert answer.status_code == 410 and answer.json["error"]["code"] == "removed"
        assert "Export the sessions again" in stored.get(f"/exports/{export['id']}/file").text
        page = stored.get(f"/exports/{export['id']}").text
        assert "The file was removed" in page and "/file" not in page


def test_exports_are_listed_by_pages(stored: FlaskClient) -> None:
    for _ in range(3):
        made(stored)
    first = stored.get("/api/exports?limit=2").json
    assert [export["id"] for export in first["exports"]] == [3, 2] and first["next"] == "2"
    last = stored.get(f"/api/exports?limit=2&after={first['next']}").json
    assert ([export["id"] for export in last["exports"]], last["next"]) == ([1], None)
    assert stored.get("/api/exports?after=x").status_code == 400


def test_a_page_asks_how_and_follows_without_a_script(stored: FlaskClient, work: Work) -> None:
    listing = stored.get("/sessions?failed=1").text
    assert 'href="/exports/new?failed=1"' in listing
    page = stored.get("/exports/new?failed=1").text
    assert "Export 2 sessions" in page and 'name="failed" value="1"' in page
    assert 'href="/api/sessions/dumps?failed=1"' in page
    answer = stored.post("/exports", data={"failed": "1"})
    assert (answer.status_code, answer.location) == (303, "/exports/1")
    waiting = stored.get("/exports/1").text
    assert "waiting" in waiting and "<noscript>" in waiting and 'action="/tasks/1/cancel"' in waiting
    work()
    done = stored.get("/exports/1").text
    assert 'href="/exports/1/file"' in done and "2" in done and "Removed on" in done and "hx-trigger" not in done
    assert "/exports/1/file" in stored.get("/tasks?kind=export").text


def test_selected_sessions_are_exported_in_the_background(stored: FlaskClient, work: Work) -> None:
    assert 'formaction="/exports"' in stored.get("/sessions").text
    chosen = keys(stored)[:2]
    assert stored.post("/exports", data={"ids": chosen}).location == "/exports/1"
    assert stored.post("/exports", data={"ids": "nobody"}).status_code == 404
    work()
    assert stored.get("/api/exports/1").json["export"]["ids"] == chosen


def test_a_row_and_a_page_are_asked_for_while_it_goes_on(stored: FlaskClient, work: Work) -> None:
    made(stored)
    dumps = stored.get("/dumps").text
    assert 'id="task-1"' in dumps and 'hx-get="/tasks/1"' in dumps
    assert stored.get("/tasks/1", headers=PARTIAL).text.lstrip().startswith("<tr")
    part = stored.get("/exports/1", headers=PARTIAL).text
    assert '<section id="export"' in part and "<html" not in part
    assert stored.post("/tasks/1/cancel").location == "/tasks#task-1"
    work()
    assert "hx-trigger" not in stored.get("/exports/1", headers=PARTIAL).text
    assert 'id="task-1"' not in stored.get("/dumps").text


def test_what_happened_meanwhile_is_on_the_page_and_escaped(
    stored: FlaskClient, post: Post, work: Work, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = "<script>alert(1)</script>"
    assert post(json.dumps(windlass(name, [entry(CALL)])).encode()).status_code == 201
    (key,) = (each["key"] for each in stored.get("/api/sessions").json["sessions"] if each["id"] == name)

    def delete() -> None:
        stored.post("/selection/deleted", data={"ids": key})

    monkeypatch.setattr(worker, "_imports_first", lambda *_: delete)
    made(stored, "?ids=a&ids=" + key)
    work()
    page = stored.get("/exports/1").text
    assert "1 session deleted before it was written" in page and name not in page
    assert "&lt;script&gt;" in page
    assert stored.get("/api/exports/1").json["export"]["deleted"] == {
        "count": 1,
        "sessions": [{"key": key, "id": name}],
    }


def test_an_export_is_no_import_and_the_other_way_round(stored: FlaskClient) -> None:
    made(stored)
    for method in (stored.get, stored.delete):
        answer = method("/api/jobs/1")
        assert answer.status_code == 404 and "no import" in answer.json["error"]["message"]
    stored.post("/api/dumps?background=1", data=b"{}")
    assert stored.get("/api/exports/2").status_code == stored.delete("/api/exports/2").status_code == 404
    assert not stored.get("/api/jobs/2").json["job"]["cancelled"]
