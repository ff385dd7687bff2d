"""The failures page, a group's page, its report, feed and JSON, and what people say of it, over HTTP."""

from __future__ import annotations

import io
import json
import re
from typing import Any
from urllib.parse import quote
from xml.etree import ElementTree as ET

import pytest
from flask.testing import FlaskClient

from webapp.web.failures import failure_pages, group_report

COMMA = '```json\n{"tool": "run", "arguments": {"n": %d,}}\n```'
CLOSER = '```json\n{"tool": "run", "arguments": {"n": %d}}}\n```'
GOOD = '```json\n{"tool": "run", "arguments": {"n": %d}}\n```'
KEY = "v1|trailing comma|fenced|alone"
HOSTILE = "<script>alert(1)</script>"


def session(name: str, texts: list[str], day: int, model: str = "model-m") -> str:
    times = [f"2026-11-{day:02}T14:{2 + at:02}:00Z" for at in range(len(texts))]
    messages = [
        {"role": "assistant", "content": text % at if "%" in text else text, "timestamp": time}
        for at, (text, time) in enumerate(zip(texts, times, strict=True))
    ]
    return json.dumps({"id": name, "model": model, "created_at": times[0], "messages": messages})


@pytest.fixture
def failing(client: FlaskClient, post: Any) -> FlaskClient:
    """Three sessions of a known parser: three trailing commas, one closer too many, four responses that it reads."""
    lines = [
        session("one", [COMMA, GOOD, COMMA], 8),
        session("two", [GOOD, CLOSER, GOOD], 9, HOSTILE),
        session("three", [COMMA, GOOD], 10, HOSTILE),
    ]
    assert post("\n".join(lines).encode(), "f.jsonl", home="windlass-strict").status_code == 201
    return client


def text(client: FlaskClient, path: str, **query: Any) -> str:
    answer = client.get(path, query_string=query)
    assert answer.status_code == 200, answer.text
    return " ".join(answer.text.split())


def group(key: str = KEY) -> str:
    return f"/failures/{quote(key, safe='')}"


def test_a_row_a_group_with_example_counts_share_and_time(failing: FlaskClient) -> None:
    page = text(failing, "/")
    assert "<b>2 kinds of failure</b>, 4 responses of 8" in page
    assert page.count('<li class="group') == 2
    assert page.index("trailing comma — fenced, alone") < page.index("extra closing bracket — fenced, alone")
    assert "3</b> responses, 37.5 %, 2 sessions" in page
    assert "<del>,</del>" in page and "<del>}</del>" in page
    assert "$.arguments.n" in page and "0 of 3 labelled" in page
    assert HOSTILE not in page


def test_a_group_and_a_model_say_what_failed_responses_cost_and_how_many_say_it(client: FlaskClient, post: Any) -> None:
    costs = ({"tokens_in": 100, "tokens_out": 40}, {"tokens_out": 2, "cost": 0.25}, {})
    rows = [
        {"session_id": "s", "kind": "response", "model": "m", "text": written} | {"recorded_at": at} | cost
        for written, at, cost in (
            (GOOD % 1, "2026-11-08T14:00:00Z", {"tokens_out": 900, "cost": 9.0}),
            (COMMA % 1, "2026-11-08T14:00:30Z", costs[0]),
            (COMMA % 2, "2026-11-08T14:02:30Z", costs[1]),
            (COMMA % 3, "2026-11-08T14:02:40Z", costs[2]),
        )
    ]
    assert post("\n".join(map(json.dumps, rows)).encode(), "f.jsonl", home="windlass-strict").status_code == 201
    (one,) = client.get("/api/failures").get_json()["failures"]
    sums = {"tokens_in": 100, "tokens_out": 42, "cost": 0.25, "seconds": 160.0}
    assert one["spent"] == sums | {"tokens_in_said": 1, "tokens_out_said": 2, "cost_said": 1, "seconds_said": 3}
    words = "100 tokens in (said of 1), 42 tokens out (said of 2), $0.25 (said of 1), 2 min 40 s"
    assert words in text(client, "/") and words in text(client, group())
    assert words in text(client, "/responses", by="model")


def test_filters_and_time_narrow_it_and_new_shows_what_is_new(failing: FlaskClient) -> None:
    assert "<b>1 kind of failure</b>" in text(failing, "/", until="2026-11-08")
    assert "<b>1 kind of failure</b>, 1 response" in text(failing, "/", since="2026-11-10")
    assert "Nothing new" in text(failing, "/", new=1, since="2026-12-01")
    assert failing.get("/?since=never").status_code == 400


def test_an_unknown_parser_is_read_as_json_loads_and_said(client: FlaskClient, make: Any) -> None:
    unknown = make(home="unknown").test_client()
    assert "No session yet" in text(unknown, "/")
    line = session("mystery", [COMMA, GOOD], 8)
    assert unknown.post("/api/dumps?filename=u.jsonl", data=line).status_code == 201
    page = text(unknown, "/")
    assert "<b>2 kinds of failure</b>, 2 responses of 2" in page and "trailing comma" in page
    assert "Which parser is yours?</b> Read as <code>json.loads</code>" in page and "Parser unknown" not in page
    not_run = text(unknown, "/", under="direct")
    assert "<b>not run</b>" in not_run and "no rate is drawn" in not_run and 'class="rates"' not in not_run
    assert 'class="rates"' in page and 'class="rates"' in text(unknown, "/", under="fencepost")


def test_none_of_so_many_failed_is_said_with_how_many(client: FlaskClient, post: Any) -> None:
    post(session("fine", [GOOD, GOOD], 8).encode(), "g.jsonl", home="windlass-strict")
    assert "None of 2 responses failed" in text(client, "/")


def test_a_group_says_who_when_how_often_and_what_would_read_it(failing: FlaskClient) -> None:
    page = text(failing, group())
    assert "Began <b>8 Nov 2026 at 14:02</b> UTC with <b>model-m</b> and 1 other model" in page
    assert "<b>3 responses</b> (37.5 % of 8) in 2 sessions" in page
    rate = '<td class="num">66.7 %</td> <td class="num soft">2 of 3</td>'
    assert rate in page and "95 %: 20.8 % to 93.9 %" in page
    assert "windlass-strict 2" in page and "reads them all" in page and "Read none of these: " in page
    readers = page[page.index("Profiles that would have read it") :].partition("</table>")[0]
    assert "fencepost</a>" in readers and "windlass-strict" not in readers and "0 of 3" not in readers
    halves = re.findall(
        r'<th scope="row">2026-11-[^<]*</th> <td class="num">[^<]*</td> <td class="num soft">(\d+) of', page
    )
    assert len(halves) == 2 and sum(map(int, halves)) == 3
    assert "Not run on any of these" in page and HOSTILE not in page
    reproduction = text(failing, group(), part="reproduction")
    assert "no character can be left out" in reproduction and "```json" in reproduction
    report = failing.get(group(), query_string={"part": "report"}).text
    assert report.startswith("# trailing comma — fenced, alone") and "(2; 95 %: 20.8 % to 93.9 %)" in report
    assert "page: http://localhost/failures/v1" in report and "`fencepost`: 3 of 3" in report
    assert "- read none of them: `windlass-strict`" in report
    assert failing.get("/failures/v1%7Cnobody").status_code == 404
    # one example a sort: the third response is like one of the two that stand there
    assert "2 of 3 responses; each of the others has the same tokens, JSON path, model" in page


ATOM = "{http://www.w3.org/2005/Atom}"


def test_the_feed_has_an_entry_a_group_and_says_where_it_is_cut(
    failing: FlaskClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = failing.get("/failures.atom")
    assert answer.mimetype == "application/atom+xml"
    told = ET.fromstring(answer.data)
    entries = list(told.iter(f"{ATOM}entry"))
    assert len(entries) == 2 and any("trailing comma" in (entry.findtext(f"{ATOM}title") or "") for entry in entries)
    ids = [entry.findtext(f"{ATOM}id") or "" for entry in entries]
    assert all(each.startswith("http://localhost/failures/v1") for each in ids)
    assert told.findtext(f"{ATOM}subtitle") is None
    named = ET.fromstring(failing.get("/failures.atom?verdict=failed&endpoint=x&_external=").data)
    assert named.findtext(f"{ATOM}id") == "http://localhost/failures.atom?verdict=failed"
    monkeypatch.setattr(failure_pages, "MOST_ENTRIES", 1)
    cut = ET.fromstring(failing.get("/failures.atom").data)
    assert len(list(cut.iter(f"{ATOM}entry"))) == 1
    assert cut.findtext(f"{ATOM}subtitle") == "1 of 2 groups; the page lists all"


def act(client: FlaskClient, key: str = KEY, **form: Any) -> str:
    answer = client.post(group(key), data=form, follow_redirects=True)
    assert answer.status_code == 200
    return " ".join(answer.text.split())


def test_states_keep_who_and_why_and_a_resolved_group_regresses(failing: FlaskClient) -> None:
    assert "an author and a reason are required" in act(failing, action="state", state="resolved")
    page = act(failing, action="state", state="ignored", how="grows", grows="2", reason="known <b>")
    assert "State: ignored" in page and "ignored until it grows ×2.0, at 3 responses: known &lt;b&gt;" in page
    act(failing, action="state", state="resolved", how="profile:windlass-strict", reason="mended in 1")
    assert ">regressed</span>" in text(failing, "/")
    page = act(failing, action="state", state="resolved", reason="mended")
    assert "State: resolved" in page and page.count("<li>") >= 3
    page = act(failing, action="assign", assignee="Ada", reason="")
    assert "assigned to Ada" in page and ">Ada</span>" in page
    assert "action takes" in act(failing, action="explode")


def test_the_second_of_two_tabs_is_told_and_changes_nothing(failing: FlaskClient) -> None:
    seen = re.search(r'name="seen" value="(\d+)"', text(failing, group(KEY)))
    assert seen
    act(failing, action="state", state="ignored", reason="mine", seen=seen[1])
    page = act(failing, action="state", state="resolved", reason="theirs", seen=seen[1])
    assert "has changed this group in the meantime" in page and "State: ignored" in page and "theirs" not in page


def test_a_merge_has_a_reason_and_is_undone(failing: FlaskClient) -> None:
    other = "v1|extra closer|fenced|alone"
    page = act(failing, other, action="merge", target=KEY, reason="one prompt")
    assert "<b>4 responses</b>" in page and "one prompt" in page
    assert failing.get(group(other)).status_code == 302
    assert 'name="merged" value="v1|extra closer|fenced|alone"' in page
    page = act(failing, action="undo", merged=other, reason="two prompts")
    assert "<b>3 responses</b>" in page and "two prompts" in page


def test_turns_and_sessions_name_the_same_failure_elsewhere(failing: FlaskClient) -> None:
    words = "3 responses in 2 sessions since 8 Nov 2026"
    assert words in text(failing, "/sessions/one/turns/0") and words in text(failing, "/sessions/one")
    assert "Same failure" not in text(failing, "/sessions/one/turns/1")


def test_steps_go_through_a_group_newest_first(failing: FlaskClient) -> None:
    query: dict[str, Any] = {"group": KEY, "session": "three", "position": 0}
    places = []
    while (answer := failing.get("/api/next-failure", query_string=query).json)["url"]:
        places.append((answer["session"], answer["position"]))
        query |= {"session": answer["session"], "position": answer["position"]}
    assert places == [("one", 2), ("one", 0)]
    assert "in this failure group" in answer["reason"]


def test_labelling_a_group_stays_within_it_and_leads_back(failing: FlaskClient) -> None:
    failing.post("/labels/name", data={"name": "ada", "next": "/"})
    page = text(failing, group())
    address = re.search(r'href="([^"]*)" data-key="l"', page)
    assert address is not None
    url = address[1].replace("&amp;", "&")
    assert url.startswith("/labels?queue=group&group=v1%7Ctrailing+comma")
    for done in range(3):
        shown = failing.get(url).text
        assert f"<b>{done}</b> of 3 of this group" in shown and "a failure group: trailing comma" in shown
        fields = dict(re.findall(r'<input type="hidden" name="(queue|group|at|seen)" value="([^"]*)"', shown))
        assert fields["queue"] == "group" and fields["group"] == KEY
        saved = failing.post("/labels", data=fields | {"judgement": "missed", "expects": ""})
        assert saved.status_code == 303 and "queue=group" in saved.location
    end = " ".join(failing.get(saved.location).text.split())
    assert "You have labelled all 3 responses of the group “trailing comma — fenced, alone”" in end
    assert f'href="{group()}">Back to the group' in end
    assert "3 of 3 responses labelled" in text(failing, group())
    under = text(failing, group(), model="model-m", label="unlabelled")
    assert "None of this group is in view" in under and "queue=group" not in under
    assert "No response of this group is shown" in text(failing, "/labels", queue="group", group="v1|nothing")
    assert failing.get("/labels?queue=group").status_code == 400


def test_a_group_without_labels_is_exported_as_tests_that_say_so(failing: FlaskClient) -> None:
    assert f'href="{group()}?part=pytest"' in text(failing, group())
    file = failing.get(group(), query_string={"part": "pytest"}).text
    assert "3 of 3 responses of the group are in this file:" in file
    assert "- 0 with an expected value" in file and "- 3 without an expected value" in file
    assert '"FENCEPOST_PROFILE", "windlass-strict"' in file
    assert "Label them: http://localhost/labels?queue=group" in file
    session_id, position = "three", 0
    label = {"judgement": "missed", "expects": "one", "expected": {"tool": "run"}, "author": "ada"}
    assert failing.put(f"/api/session/{session_id}/turns/{position}/label", json=label).status_code < 300
    file = failing.get(group(), query_string={"part": "pytest", "most": 1}).text
    assert "2 of 3 responses" in file and "- 1 with an expected value" in file
    assert "Not in it: 1 more without an expected value" in file and "most=1000" in file
    compile(file, "test_failure_group.py", "exec")


def test_bars_of_a_sparkline() -> None:
    assert group_report.spark_bars((0, 4, 1)) == "M4 20v-19h3v19zM8 20v-5.5h3v5.5z"
    assert group_report.spark_bars(()) == group_report.spark_bars((0, 0)) == ""


def test_an_example_too_long_to_be_read_says_how_long_it_is(client: FlaskClient, post: Any) -> None:
    lines = session("long", ["x" * 200_000 + COMMA], 8)
    assert post(lines.encode(), "f.jsonl", home="windlass-strict").status_code == 201
    assert f"{200_000 + len(COMMA % 0):,} bytes, too long to be drawn here" in text(client, "/")


@pytest.mark.parametrize("most", ["abc", "-1", "1e3"])
def test_a_number_of_tests_that_is_none_is_refused(failing: FlaskClient, most: str) -> None:
    answer = failing.get(group(), query_string={"part": "pytest", "most": most})
    assert answer.status_code == 400 and "must be a number of responses" in answer.text


def test_a_change_is_said_with_its_interval_and_drawn_with_a_table(client: FlaskClient, post: Any) -> None:
    lines = [session(f"a{at}", [GOOD] * 5, 8, "old") for at in range(12)]
    lines += [session(f"b{at}", [COMMA] * 4 + [GOOD], 9, "<new>") for at in range(12)]
    assert post("\n".join(lines).encode(), "c.jsonl", home="windlass-strict").status_code == 201
    page = text(client, "/")
    sentence = page[page.index('id="changed"') : page.index(">Show<")]
    assert "9 Nov 14:02" in sentence and "&lt;new&gt;" in sentence and "80 %" in sentence and "48 of 60" in sentence
    assert "before 0 %" in sentence and " to " in sentence
    assert page.count("<polyline") == 4, "a line and its legend for each model"
    assert all(line.count(",") > 1 for line in re.findall('<polyline class="m." points="(.*?)"', page)), (
        "one alone is seen"
    )
    assert "48 of 60</td>" in page and "0 of 60</td>" in page
    assert 'class="tag new-tag">new</span>' in page
    assert 'id="changed"' not in text(client, "/", until="2026-11-08")


def test_nothing_is_said_where_nothing_changed(failing: FlaskClient) -> None:
    page = text(failing, "/")
    assert 'id="changed"' not in page and "<polyline" in page


COMMA_ALONE = "v1|trailing comma|whole|alone"


@pytest.fixture
def stored(client: FlaskClient) -> None:
    about = {"kind": "response", "model": "m"}
    texts = [('{"a": 1,}', 1), ("{}", 2), ('{"b": 2,}', 3), ("'x': 1}", 4)]
    rows = [
        about | {"session_id": f"s{number % 2}", "text": text, "recorded_at": f"2026-01-0{day}"}
        for number, (text, day) in enumerate(texts)
    ]
    body = "".join(json.dumps(row) + "\n" for row in rows).encode()
    posted = client.post("/api/dumps?home=direct", data=io.BytesIO(body), content_type="application/octet-stream")
    assert posted.status_code == 201, posted.text


@pytest.mark.usefixtures("stored")
def test_list_group_and_turn(client: FlaskClient) -> None:
    answer = client.get("/api/failures?limit=1").get_json()
    assert (answer["total"], answer["next"], answer["responses"]) == (2, "1", {"run": 4, "of": 4, "not_run": 0})
    [group] = answer["failures"]
    assert (group["key"], group["count"], group["share"], group["sessions"]) == (COMMA_ALONE, 2, 0.5, 1)
    assert group["first_seen"] == "2026-01-01T00:00:00+00:00"
    assert client.get("/api/failures?limit=1&after=1").get_json()["next"] is None
    assert client.get("/api/failures?new=1&since=2026-01-02").get_json()["total"] == 1
    detail = client.get(f"/api/failures/{quote(COMMA_ALONE, safe='')}").get_json()
    assert detail["group"]["count"] == 2 and detail["models"][0]["of"] == 4
    nothing = {"tokens_in": None, "tokens_in_said": 0, "tokens_out": None, "tokens_out_said": 0}
    assert {**nothing, "cost": None, "cost_said": 0}.items() <= detail["spent"].items()
    not_run = next(one for one in detail["readers"] if one["profile"] == "json-repair")
    assert (not_run["read"], not_run["run"]) == (None, 0)
    same = client.get("/api/session/s0/turns/0/failure").get_json()["failure"]
    assert (same["key"], same["count"], same["later"]["position"], same["earlier"]) == (COMMA_ALONE, 2, 1, None)
    assert client.get("/api/session/s1/turns/0/failure").get_json() == {"failure": None}


def test_what_cannot_be_asked(client: FlaskClient) -> None:
    assert client.get("/api/failures/v1%7Cnothing").status_code == 404
    for query in ("limit=0", "limit=x", "after=x", "since=x"):
        assert client.get(f"/api/failures?{query}").status_code == 400, query
    assert client.get("/api/failures").get_json()["failures"] == []
