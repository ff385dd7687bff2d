"""Running a profile from the pages: not run is a state with a button, a run shows its progress and is cancelled."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from flask.testing import FlaskClient

from tests.web.pages import session
from webapp.parsing import parse, words

CALL = '```json\n{"tool": "t", "arguments": {}}\n```'
Work = Callable[[], None]


@pytest.fixture
def stored(client: FlaskClient) -> FlaskClient:
    assert client.post("/api/dumps?filename=s.json", data=session("s", CALL, "{}", "Nothing.")).status_code == 201
    return client


def test_a_filter_under_a_profile_that_was_not_run_says_so(stored: FlaskClient) -> None:
    page = stored.get("/sessions?verdict=failed&under=direct").text
    assert "<b>not run</b>" in page and "over 3 responses" in page and "Run it over these" in page
    assert "0 sessions" not in page
    answer = stored.get("/api/sessions?verdict=failed&under=direct").json
    assert (answer["total"], answer["hidden"]) == (None, None)
    assert answer["under"] == {"profile": "direct", "run": 0, "of": 3, "reason": "not run over 3 responses"}


def test_the_button_runs_it_and_then_there_are_numbers(stored: FlaskClient, work: Work) -> None:
    answer = stored.post("/profiles/direct/runs", data={})
    assert answer.status_code == 303
    assert "waiting" in stored.get("/profiles/direct").text
    work()
    assert "Run on all 3 responses" in stored.get("/profiles/direct").text
    assert stored.get("/api/sessions?verdict=failed&under=direct").json["total"] == 1
    assert "<b>1 session</b>" in stored.get("/sessions?verdict=failed&under=direct").text


def test_a_run_is_made_watched_and_cancelled_by_the_api(stored: FlaskClient) -> None:
    answer = stored.post("/api/profiles/direct/runs?failed=1")
    assert answer.status_code == 202
    run = answer.json["run"]
    assert (run["state"], run["filters"], run["counts"]) == ("queued", {"failed": 1}, None)
    assert stored.delete(f"/api/runs/{run['id']}").json["run"]["state"] == "cancelled"
    assert stored.get(f"/api/runs/{run['id']}").json["run"]["state"] == "cancelled"
    assert stored.get("/api/runs/99").status_code == 404
    assert stored.post("/api/profiles/none/runs").status_code == 404


def test_profiles_are_grouped_and_searched(stored: FlaskClient) -> None:
    page = stored.get("/profiles").text
    places = [page.index(f">{group}<") for group in ("Fencepost", "Written by hand", "Libraries", "Model servers")]
    assert places == sorted(places)
    assert page.count("Run on everything") > 10
    found = stored.get("/profiles?q=mistral").text
    assert ">vllm-mistral<" in found and ">langchain<" not in found
    assert "No profile matches “zzz”" in stored.get("/profiles?q=zzz").text


def test_api_says_how_far_each_profile_was_run(stored: FlaskClient) -> None:
    profiles = {line["name"]: line for line in stored.get("/api/profiles").json["profiles"]}
    assert (profiles["fencepost"]["run"], profiles["fencepost"]["of"], profiles["fencepost"]["not_run"]) == (3, 3, None)
    assert (profiles["direct"]["run"], profiles["direct"]["not_run"]) == (0, "not run over 3 responses")
    assert profiles["strip-fences"]["group"] == "Written by hand"


def test_what_reads_as_home_does_is_folded(stored: FlaskClient) -> None:
    page = stored.get("/sessions/s/turns/0").text
    first, rest = page.split('id="profiles-rest"')
    assert re.search(r"<summary>(\d+ [a-z ]+, )+\d+ \w+", rest) and ">windlass-balanced" in rest
    assert ">fencepost" in first.partition('aria-label="Profiles"')[2]


@pytest.fixture
def absent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FENCEPOST_PROFILES", "gone=no_such_module:parse")


def test_a_parser_that_cannot_run_finds_nothing_and_says_why(absent: None, stored: FlaskClient) -> None:
    assert "was not run: no_such_module:parse could not be imported" in words.trace_sentence(parse("No JSON.", "gone"))
    answer = stored.get("/api/session/s/turns/0?profile=gone").json
    assert answer["trace"] is None and "could not be imported" in answer["not_run"]
    report = stored.get("/sessions/s/turns/2/markdown").text
    assert "`gone`: was not run: no_such_module:parse could not be imported" in report
    assert stored.post("/profiles/gone/runs").status_code == 409
    page = stored.get("/profiles/gone").text
    assert "could not be imported" in page and "Run on everything" not in page
    profiles = {line["name"]: line for line in stored.get("/api/profiles").json["profiles"]}
    assert (profiles["gone"]["run"], profiles["gone"]["score"]) == (None, None)


@pytest.fixture
def cannot_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FENCEPOST_PROFILES", "mine=cmd:no-such-program")


def test_a_session_whose_parser_cannot_be_started_has_not_failed_and_not_been_read(
    cannot_start: None, client: FlaskClient
) -> None:
    client.post("/api/dumps?filename=s.json&home=mine", data=session("s", CALL, "{}", model="m"))
    (line,) = client.get("/api/sessions").json["sessions"]
    assert (line["responses"], line["failed"], line["failing"], line["shape"]["failed"]) == (2, 0, 0, 0)
    assert "Parser <code>mine</code> not run: 2 responses." in (page := client.get("/sessions").text)
    assert "2 parser not run" in page and ">not run</td>" in page
    assert client.get("/api/sessions?verdict=not_run").json["total"] == 1
    responses = client.get("/api/responses?verdict=not_run").json
    assert [(one["verdicts"]["home"], one["failed"]) for one in responses["responses"]] == [(None, False)] * 2
    assert responses["total"] == 2 and client.get("/api/responses?failed=1").json["total"] == 0
    grouped = client.get("/responses?by=model").text
    assert grouped.count(">not run</td>") == 2 and "0 %" not in grouped
    incidents = client.get("/").text
    assert "was not run on 2 responses" in incidents and "Your parser read every one" not in incidents
    assert ">not run</td>" in client.get("/dumps/1").text
    turn = client.get("/api/session/s/turns/0").json
    assert "no-such-program" in turn["not_run"]


def test_once_it_can_be_started_a_run_puts_its_verdicts_there(
    cannot_start: None, client: FlaskClient, work: Work, monkeypatch: pytest.MonkeyPatch
) -> None:
    client.post("/api/dumps?filename=s.json&home=mine", data=session("s", CALL, "{}"))
    monkeypatch.setenv("FENCEPOST_PROFILES", "mine=json:loads")
    assert client.post("/profiles/mine/runs", data={}).status_code == 303
    work()
    (line,) = client.get("/api/sessions").json["sessions"]
    assert (line["failed"], line["shape"]["clean"], line["shape"]["failed"]) == (1, 1, 1)
    assert client.get("/api/responses?verdict=not_run").json["total"] == 0


def test_nothing_labelled_is_no_comparison(stored: FlaskClient) -> None:
    page = stored.get("/profiles/fencepost?against=direct").text
    assert "<b>not compared</b>" in page and "fixes" not in page
