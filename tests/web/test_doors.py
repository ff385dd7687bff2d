"""What goes in through the API comes out on every page, however odd; nothing answers 500."""

from __future__ import annotations

import gzip
import io
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from flask.testing import FlaskClient

from tests.web.pages import entry, windlass
from webapp.store.files import StoreUnreachable
from webapp.store.ingest import dump_files
from webapp.web.links import is_plain

Post = Callable[..., Any]

FOUR_BRACES = 'I will run it.\n\n```json\n{"tool": "run_code", "arguments": {"code": "print(1)"}}}}\n```\n'
ODD_IDS = [
    "../../etc/x",
    "a/b",
    "//",
    "%2e%2e",
    "CON",
    "",
    "🦊" * 300,
    "..",
    "a/turns/0",
    "x\x00y",
    "\ud800",
    "<b>&\"'",
    " ",
]
BY_KEY = ("", "//", "a/turns/0", "\ud800")
"""ids of which no path can be made that means nothing else"""


def test_multipart_takes_several_files_and_keeps_the_good_ones(client: FlaskClient) -> None:
    files = [(io.BytesIO(windlass("s1", entry("hi"))), "a.json"), (io.BytesIO(b"{"), "b.json")]
    answer = client.post("/api/dumps", data={"file": files})
    assert answer.status_code == 201
    assert "dump" in answer.json["dumps"][0] and "error" in answer.json["dumps"][1]


def test_the_turn_carries_its_trace_under_any_profile(client: FlaskClient, post: Post) -> None:
    post(windlass("s1", entry(FOUR_BRACES)))
    home = client.get("/api/session/s1/turns/0").json
    assert (home["profile"], home["trace"]["verdict"], home["failed"], home["rescued"]) == (
        "windlass-strict",
        "failed",
        True,
        True,
    )
    ours = client.get("/api/session/s1/turns/0?profile=fencepost").json["trace"]
    assert ours["values"] == [{"tool": "run_code", "arguments": {"code": "print(1)"}}]
    assert client.get("/api/session/s1/turns/0?profile=nope").status_code == 404
    assert client.get("/api/session/s1/turns/1").status_code == 404


@pytest.mark.parametrize("external_id", ODD_IDS, ids=lambda name: repr(name[:9]))
def test_an_odd_id_works_in_every_url(client: FlaskClient, post: Post, external_id: str, tmp_path: Path) -> None:
    given = post(windlass(external_id, entry(FOUR_BRACES)))
    assert given.json["sessions"] == [external_id]
    key = client.get("/api/sessions").json["sessions"][0]["key"]
    ident = key if external_id in BY_KEY else quote(external_id, safe="")
    session = f"/sessions/{ident}"
    for path in (session, f"{session}/turns/0", f"{session}/turns/0/raw", f"/sessions/{key}", "/sessions"):
        assert client.get(path).status_code == 200, path
    for name in (ident, key):
        assert client.get(f"/api/session/{name}/turns/0").json["session"] == external_id
    written = client.post(f"/api/session/{ident}/dump").json
    assert written["success"] and written["entry_count"] == 1
    assert Path(written["dump_path"]).resolve().is_relative_to(tmp_path / "logs" / "session_dumps")
    assert client.get(f"/api/session/{ident}/dump").json["session_id"] == external_id


@pytest.mark.parametrize("body", [b"", b"{]", b"17", b'{"session_id": "s"}', b'{"session_id": "s", "entries": 5}'])
def test_bad_input_gets_words_and_a_place(client: FlaskClient, post: Post, body: bytes) -> None:
    answer = post(body)
    error = answer.json["error"]
    assert answer.status_code in (415, 422) and error["code"] and error["message"] and error["at"]
    assert client.get("/dumps").status_code == 200


ODD_ENTRIES = [
    7,
    None,
    [],
    "text",
    entry(None),
    entry(5),
    entry([1, "two"]),
    entry({"tool": "x"}),
    entry("NUL \x00 and \ud800 alone"),
    entry("x", timestamp="yesterday", model=5, metadata="{broken", tokens_in="many"),
    {"content": "no other key"},
    entry("x", deep=json.loads("[" * 200 + "]" * 200)),
]


def test_odd_entries_do_not_spoil_the_good_ones(client: FlaskClient, post: Post) -> None:
    answer = post(windlass("s1", entry("first"), *ODD_ENTRIES, entry(FOUR_BRACES)))
    assert answer.status_code == 201
    assert len(answer.json["problems"]) >= 4
    assert all(problem["at"] and problem["reason"] for problem in answer.json["problems"])
    turns = client.get("/api/session/s1").json["turns"]
    assert turns[0]["preview"] == "first"
    for turn in turns:
        assert client.get(f"/sessions/s1/turns/{turn['position']}").status_code == 200
        assert client.get(f"/api/session/s1/turns/{turn['position']}").status_code == 200
    assert client.get("/sessions/s1").status_code == client.get("/api/session/s1/dump").status_code == 200


def test_ids_that_differ_by_case_or_form_alone(client: FlaskClient, post: Post) -> None:
    names = ["Run", "run", "RUN", "\u00e9", "e\u0301", "a/b", "a%2Fb", "a b"]
    for name in names:
        assert post(windlass(name, entry(name))).status_code == 201
    found = client.get("/api/sessions").json["sessions"]
    assert sorted(one["id"] for one in found) == sorted(names)
    assert len({one["url"] for one in found}) == len({one["key"] for one in found}) == len(names)
    paths = [client.post(f"/api/session/{one['key']}/dump").json["dump_path"] for one in found]
    assert len(set(paths)) == len(names)
    for one, path in zip(found, paths, strict=True):
        assert json.loads(Path(path).read_bytes())["session_id"] == one["id"]


TIMES = [0, -1, 1e-9, 7226582400, 253402300799, 253402300800, 1e300, -1e18, "yesterday", "", True]
TIMES += ["1970-01-01T00:00:00Z", "9999-12-31T23:59:59Z", "2199-01-01T00:00:00+14:00", "0001-01-01T00:00:00+14:00"]
TIMES += ["9999-12-31T23:59:59-14:00", float("nan"), float("inf")]


def test_any_clock(client: FlaskClient, post: Post) -> None:
    """Sessions of all these times in one store: each is listed once, page by page, and every page of it opens."""
    for number, time in enumerate(TIMES):
        assert post(windlass(f"s{number}", entry("one", timestamp=time))).status_code == 201, time
    listed, address = [], "/api/sessions?limit=7"
    while address:
        answer = client.get(address).json
        listed += [session["id"] for session in answer["sessions"]]
        address = answer["next"] and f"/api/sessions?limit=7&after={answer['next']}"
    assert sorted(listed) == sorted(f"s{number}" for number in range(len(TIMES)))
    for page in ("/?limit=1", "/sessions", "/dumps"):
        assert client.get(page).status_code == 200, page
    for number, time in enumerate(TIMES):
        for page in (f"/sessions/s{number}", f"/sessions/s{number}/turns/0"):
            assert client.get(page).status_code == 200, time
        assert b'"timestamp"' in client.get(f"/api/session/s{number}/dump").data, time


def test_a_label_is_made_listed_changed_and_removed(client: FlaskClient, post: Post) -> None:
    post(windlass("s1", entry(FOUR_BRACES)))
    form = {"judgement": "missed", "cause": "extra-closing", "note": "two <b>braces</b>", "author": "ada"}
    assert client.post("/sessions/s1/turns/0/label", data=form).status_code == 302
    page = client.get("/labels/list").text
    assert "missed" in page and "extra-closing" in page and "two &lt;b&gt;braces" in page and "ada" in page
    assert client.post("/sessions/s1/turns/0/label", data=form | {"judgement": "wrong"}).status_code == 302
    assert [label["judgement"] for label in client.get("/api/labels").json["labels"]] == ["wrong"]
    client.post("/sessions/s1/turns/0/label", data={"remove": "1", "author": "ada"})
    assert client.get("/api/labels").json["labels"] == []


def test_the_partial_and_the_page_differ_by_the_htmx_header_alone(client: FlaskClient, post: Post) -> None:
    post(windlass("s1", entry(FOUR_BRACES)))
    page = client.get("/sessions/s1/turns/0")
    partial = client.get("/sessions/s1/turns/0", headers={"HX-Request-Type": "partial"})
    assert "HX-Request-Type" in page.headers["Vary"] and "HX-Request-Type" in partial.headers["Vary"]
    assert partial.text.strip() in page.text and "<html" not in partial.text


def test_a_long_text_with_thousands_of_attempts_makes_a_bounded_page(client: FlaskClient, post: Post) -> None:
    raw = "{a} and {b: \n" * 2_000
    post(windlass("s1", entry(raw)))
    page = client.get("/sessions/s1/turns/0?profile=fencepost")
    assert page.status_code == 200
    assert len(page.data) < 400_000
    assert client.get("/sessions/s1/turns/0/raw").data.decode() == raw


def test_revisions_are_linked_each_to_itself(client: FlaskClient, post: Post) -> None:
    post(windlass("s1", entry("one past")), "1.json")
    post(windlass("s1", entry("another past")), "2.json")
    page = client.get("/sessions").text
    links = re.findall(r'class="id" href="([^"]+)"', page)
    assert len(links) == 2 and links.count("/sessions/s1") == 1
    texts = [client.get(f"{link}/turns/0").text for link in links]
    assert "another past" in client.get("/sessions/s1/turns/0").text
    assert sorted("one past" in text for text in texts) == [False, True]


def test_a_kept_dump_can_be_downloaded_byte_for_byte(client: FlaskClient, post: Post) -> None:
    body = windlass("s1", entry("x\x00y"))
    sha256 = post(gzip.compress(body), "../odd\nname.json").json["dump"]["sha256"]
    answer = client.get(f"/dumps/{sha256}/file")
    assert answer.data == body and answer.headers["Content-Length"] == str(len(body))
    assert answer.headers["Content-Disposition"].startswith("attachment")
    assert client.get("/dumps/nothing/file").status_code == 404


def test_only_plain_ids_are_linked_as_they_are() -> None:
    assert is_plain("ui_run_1") and is_plain("run:2025-12-02") and is_plain("x")
    assert not any(map(is_plain, ["", ".", "..", "a/b", "a b", "é", "%2e", ".hidden", "a..b"]))


def test_it_leads_to_the_page(client: FlaskClient) -> None:
    assert {client.get(asked).status_code for asked in ("/help/", "/help/api/", "/tasks/", "/api/sessions/")} == {200}


def test_what_is_no_page_stays_missing(client: FlaskClient) -> None:
    for asked in ["/nothing/", "/sessions/nobody/"]:
        assert client.get(asked).status_code == 404
    assert client.post("/labels/draw/x/").status_code == 404


def test_each_says_what_to_do_next(client: FlaskClient) -> None:
    """Only what names a session is looked for by the text of one; an address of a form is no page."""
    by_text = "To find a session by part of its id"
    assert by_text in client.get("/sessions/nobody").text
    for asked in ("/tasks/99", "/help/nothing", "/dumps/99"):
        assert by_text not in client.get(asked).text, asked
    refused = client.get("/selection/delete")
    assert refused.status_code == 405 and "go back to that page" in refused.text


def test_a_store_that_is_away_is_not_named(client: FlaskClient, monkeypatch: pytest.MonkeyPatch) -> None:
    dump = client.post("/api/dumps?filename=a.txt", data=b"user: hi\nassistant: {}\n").json["dump"]["id"]

    def away(*_: object) -> None:
        raise StoreUnreachable("FENCEPOST_STORE s3://key@host/bucket, dumps: timed out")

    monkeypatch.setattr(dump_files, "open_kept", away)
    answer = client.get(f"/dumps/{dump}/file")
    assert answer.status_code == 503 and "file store cannot be reached" in answer.text and "s3://" not in answer.text
