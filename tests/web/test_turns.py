"""The turn page and the playground over HTTP: every state by its URL, reports, windows, hostile links."""

from __future__ import annotations

import base64
import json
import re
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from flask.testing import FlaskClient

from tests.parsing import _cases
from webapp.findings import own, rulebook
from webapp.parsing import parse
from webapp.store.sessions import debugger_queries
from webapp.web import playground, verdict_column
from webapp.web.turns import reports

Post = Callable[..., Any]
RAW = "Sure:\n```json\n{'tool': 'run', 'n': 1,}}\n```\nand {x}"
PAGE = "/sessions/s1/turns/1"


@pytest.fixture
def turn(post: Post, client: FlaskClient) -> FlaskClient:
    """A session s1 with a prompt, a broken response and a tool result."""
    messages = [
        {"role": "user", "content": "Call the tool."},
        {"role": "assistant", "content": RAW},
        {"role": "tool", "content": "it failed", "tool_call_id": "1"},
    ]
    assert post(json.dumps({"id": "s1", "messages": messages}).encode()).status_code == 201
    return client


def test_the_page_shows_raw_text_attempts_every_profile_and_what_stands_around(turn: FlaskClient) -> None:
    page = turn.get(PAGE).text
    marks = ("it failed", "extra closing bracket", "discarded")
    for words in ("Call the tool.", *marks, "fire-circle-strict", "four-tier"):
        assert words in page, words
    assert page.count("data-s=") > 3


def test_a_failed_turn_shows_where_its_parser_stopped_and_the_edits_of_every_value(
    post: Post, client: FlaskClient
) -> None:
    raw = 'One: {"a": 1,}\nTwo: {"b": 2}}'
    messages = [{"role": "assistant", "content": raw}]
    assert post(json.dumps({"id": "two", "messages": messages}).encode(), home="direct").status_code == 201
    page = client.get("/sessions/two/turns/0").text
    assert 'class="caret"' in page and "<del" in page
    assert page.count("<del") == page.count("removed, ") >= 1
    assert "removed, trailing comma: " in page


def test_a_turn_without_text_shows_its_entry_and_the_rail_has_first_words(post: Post, client: FlaskClient) -> None:
    lines = [
        {"session_id": "e", "kind": "event", "name": "step.noop", "recorded_at": "2026-11-08T14:02:00Z"},
        {"session_id": "e", "kind": "response", "text": "first words", "recorded_at": "2026-11-08T14:03:00Z"},
    ]
    answer = post("".join(json.dumps(line) + "\n" for line in lines).encode(), "e.jsonl")
    assert answer.status_code == 201, answer.json
    turns = client.get("/api/session/e").json["turns"]
    silent = next(turn["position"] for turn in turns if turn["preview"] is None)
    page = client.get(f"/sessions/e/turns/{silent}").text
    assert "This turn has no text. Its entry:" in page
    assert page.index("step.noop") < page.index('<div class="sources">')
    turns = page[page.index('class="turn-list"') : page.index("</nav>", page.index('class="turn-list"'))]
    assert '<span class="faint words">first words</span>' in turns and "14:03:00" in turns


def test_what_was_only_looked_at_is_folded_until_it_is_asked_for(turn: FlaskClient) -> None:
    page = turn.get(f"{PAGE}?profile=fencepost").text.partition("<h2>Attempts</h2>")[2]
    listed, _, folded = page.partition('<details class="looks">')
    assert "Accepted after" in listed and "Not JSON as a whole: Expecting value at line 1" in folded
    assert "Not JSON as a whole" not in listed
    assert '<details class="looks" open>' in turn.get(f"{PAGE}?profile=fencepost&attempt=0").text
    alone = turn.get(f"{PAGE}?profile=direct").text
    assert "Not JSON as a whole: Expecting value" in alone and 'class="looks"' not in alone


@pytest.mark.parametrize(("edit", "words"), [(0, "before the first of"), (2, "after edit 2 of")])
def test_each_edit_is_a_state_with_its_url(turn: FlaskClient, edit: int, words: str) -> None:
    page = turn.get(f"{PAGE}?edit={edit}").text
    assert words in page
    assert page.count('aria-current="step"') == (1 if edit else 0)
    assert "it does not decode" in page


def test_a_state_far_outside_is_the_nearest_that_there_is(turn: FlaskClient) -> None:
    for query in (
        "attempt=99",
        "edit=9999",
        "r=5-900000000",
        "r=9-2",
        "lines=7-2",
        "chars=9-1",
        "edit=-1",
        "attempt=x",
    ):
        assert turn.get(f"{PAGE}?{query}").status_code == 200, query
    assert turn.get(f"{PAGE}?profile=nope").status_code == 404


def test_a_range_and_the_decoded_text_are_views(turn: FlaskClient) -> None:
    assert re.search(r'class="range">Sure<', turn.get(f"{PAGE}?r=0-4").text)
    assert 'class="decoded"' in turn.get(f"{PAGE}?view=text").text


def test_the_decoded_text_can_be_had_after_any_edit(turn: FlaskClient) -> None:
    trace = parse(RAW)
    index = trace.chosen[0]
    whole = turn.get(f"{PAGE}/decoded?attempt={index}").text
    assert json.loads(whole) == {"tool": "run", "n": 1}
    assert turn.get(f"{PAGE}/decoded?attempt={index}&edit=0").text == trace.attempts[index].span.of(RAW)
    assert turn.get(f"{PAGE}/decoded?attempt=99").status_code == 404


def test_a_range_of_the_raw_text_can_be_had_alone(turn: FlaskClient) -> None:
    assert turn.get(f"{PAGE}/raw?r=2-8").text == RAW[2:8]
    assert turn.get(f"{PAGE}/raw").text == RAW


def test_markdown_holds_the_raw_text_in_a_fence_that_holds(turn: FlaskClient) -> None:
    text = turn.get(f"{PAGE}/markdown").text
    assert f"````\n{RAW}\n````" in text
    assert "extra_closer at line 3" in text and "`fire-circle`" in text and "turns/1" in text


def case(turn: FlaskClient, tmp_path: Path) -> Any:
    """The case of the response, by the reader that tests/parsing has."""
    path = tmp_path / "single_quotes.md"
    path.write_text("# single_quotes\n\n" + turn.get(f"{PAGE}/case").text, "utf-8")
    (found,) = _cases.read(path)
    return found


def test_a_case_is_one_that_the_tests_read_and_pass(turn: FlaskClient, tmp_path: Path) -> None:
    found, trace = case(turn, tmp_path), parse(RAW)
    assert (found.raw, found.values) == (RAW, list(trace.values))
    edits = [edit for index in trace.chosen for edit in trace.attempts[index].edits]
    assert found.done == [f"{edit.repair}@{edit.span.start}-{edit.span.end}" for edit in edits]


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ([{"expected": {"n": 1}}, {"expected": {"n": 2}}], [{"n": 2}]),  # that of the newest
        ([{"expects": "several", "expected_values": [{"n": 1}, {"n": 2}]}], [{"n": 1}, {"n": 2}]),
        ([{"judgement": "spurious", "expects": "none"}], []),
    ],
)
def test_a_case_has_the_values_of_labels(
    turn: FlaskClient, tmp_path: Path, labels: list[dict[str, Any]], expected: list[Any]
) -> None:
    for author, said in zip(("ann", "bob"), labels, strict=False):
        label(turn, author, **said)
    assert case(turn, tmp_path).values == expected
    assert turn.get(f"{PAGE}/case").text.endswith(".\nnone\n") is (expected == [])


def label(turn: FlaskClient, author: str, **said: Any) -> None:
    answer = turn.put("/api/session/s1/turns/1/label", json={"author": author, "judgement": "wrong"} | said)
    assert answer.status_code == 200, answer.text


def test_a_case_has_the_values_of_a_settlement(turn: FlaskClient, tmp_path: Path) -> None:
    for number, author in enumerate(("ann", "bob", "cem"), 1):
        label(turn, author, expected={"n": number})
    key = turn.get("/api/session/s1").json["session"]["key"]
    form = {"key": key, "position": "1", "whose": "bob", "why": "", "seen": ""}
    assert turn.post("/labels/disagreements", data=form).status_code == 303
    assert case(turn, tmp_path).values == [{"n": 2}]


@pytest.mark.parametrize("raw", ["{", ".", '{"a": 1}\n.\n', "a\r\nb\ud800\x00 [1]", "nothing", '"\u202e"'])
def test_any_text_becomes_a_case(raw: str, tmp_path: Path) -> None:
    path = tmp_path / "responses.md"
    path.write_bytes(("# responses\n\n" + reports.case(raw, parse(raw))).encode("utf-8", "surrogatepass"))
    (found,) = _cases.read(path)
    assert (found.raw, found.values) == (raw, list(parse(raw).values))


def test_only_what_a_model_wrote_has_reports(turn: FlaskClient) -> None:
    for path in ("markdown", "case", "decoded"):
        assert turn.get(f"/sessions/s1/turns/0/{path}").status_code == 404


def test_equal_values_share_a_letter_whatever_the_order_of_their_keys() -> None:
    names = ["a", "b", "c", "d"]
    found = {
        "a": parse('{"x": 1, "y": 2}'),
        "b": parse('{"y": 2, "x": 1}'),
        "c": parse('{"x": 2}'),
        "d": parse("{", "direct"),
    }
    lines = verdict_column.column("", found, [*names, "e"], "b").lines
    assert [line.letter for line in lines] == ["A", "A", "B", None, None]
    assert [line.same for line in lines] == [True, True, False, False, False]
    assert [line.verdict for line in lines[3:]] == ["failed", None]
    assert lines[4].why == "no profile is called 'e'"


def test_prose_in_quotes_is_no_value_of_its_own() -> None:
    found: dict[str, Any] = {name: parse("I look into it.", name) for name in ("fencepost", "jsonrepair")}
    column = verdict_column.column("I look into it.", found, found, "fencepost")
    assert [line.letter for line in column.lines] == [None, None] and column.values == 0
    listed = verdict_column.column("", {"d": parse("{"), "j": found["jsonrepair"]}, ["a", "b", "j"], "a")
    assert listed.rest_words == "1 quote it"


def test_a_stored_trace_is_read_without_its_values() -> None:
    raw = json.dumps({"values": [1], "attempts": [{"strategy": '"values":['}], "s": '"attempts":['})
    trace = parse(f"text {raw} text }}")
    stored = json.dumps(trace.as_dict(), separators=(",", ":")).encode()
    light = json.loads(debugger_queries.without_values(stored))
    assert light == trace.as_dict() | {"values": []}


def test_a_long_response_is_a_page_of_bounded_size(post: Post, client: FlaskClient) -> None:
    row = '  {"id": 12345, "name": "row", "tags": ["a", "b"]},\n'
    raw = "[\n" + row * 6_000 + "]"
    post(json.dumps({"id": "big", "messages": [{"role": "assistant", "content": raw}]}).encode())
    page = client.get("/sessions/big/turns/0?profile=fencepost").text
    assert len(page) < 250_000 and page.count("<li") < 1_000
    first, last = map(int, re.findall(r"\?[^\"]*lines=(\d+)-(\d+)", page)[0])
    more = client.get(f"/sessions/big/turns/0?lines={first}-{last}").text
    assert f'data-n="{first}"' in more and f'data-n="{last}"' in more
    assert f'data-n="{last}"' not in page


def test_the_playground_reads_links_and_saves(client: FlaskClient) -> None:
    packed = playground.pack(RAW)
    assert packed and playground.unpack(packed) == RAW
    assert "extra closing bracket" in client.get(f"/playground?t={packed}").text
    partial = client.post("/playground", data={"text": RAW}, headers={"HX-Request-Type": "partial"})
    assert partial.headers["HX-Replace-Url"] == f"/playground?t={packed}"
    assert partial.text.lstrip().startswith('<div class="debugger')
    saved = client.post("/playground/session", data={"text": RAW, "title": "mine"})
    assert saved.status_code == 302
    session = client.get("/api/sessions").json["sessions"][0]
    assert session["title"] == "mine"
    assert client.get(f"/api/session/{session['key']}/turns/0").json["raw"] == RAW
    assert client.get(f"/playground/raw?t={packed}&r=0-4").text == "Sure"
    assert "extra_closer@" in client.get(f"/playground/case?t={packed}").text


def test_a_long_text_has_no_link_and_its_steps_bring_the_text_along(client: FlaskClient) -> None:
    raw = "".join(f"{i * 7919:x}" for i in range(9_000)) + '{"a": 1,}'
    assert playground.pack(raw) is None
    page = client.post("/playground", data={"text": raw}).text
    assert 'formaction="/playground?' in page and "?t=" not in page
    assert "not run" in page
    step = client.post("/playground?profile=direct&step=1", data={"text": raw}, headers={"HX-Request-Type": "partial"})
    assert "HX-Replace-Url" not in step.headers and "<code>json.loads</code>" in step.text


@pytest.mark.parametrize("packed", ["x", "%F0%9F", "eJw", playground.pack("a" * 150_000)[:-4]])  # type: ignore[index]
def test_a_link_that_is_broken_says_so(client: FlaskClient, packed: str) -> None:
    answer = client.get(f"/playground?t={packed}")
    assert answer.status_code == 400 and "link" in answer.text


def test_a_link_never_unpacks_to_more_than_is_allowed() -> None:
    bomb = base64.urlsafe_b64encode(zlib.compress(b"a" * 50_000_000)).decode().rstrip("=")
    with pytest.raises(playground.BadRequest):
        playground.unpack(bomb)


def test_nothing_to_save_is_said(client: FlaskClient) -> None:
    answer = client.post("/playground/session", data={"text": ""})
    assert answer.status_code == 422 and "no text" in answer.text


def test_crlf_that_a_form_made_is_taken_back(client: FlaskClient) -> None:
    page = client.post("/playground", data={"text": '{"a":\r\n1}'}).text
    assert "2 lines" in page and 'data-glyph="CR"' not in page


def test_thinking_is_called_so_and_the_rail_shows_where_a_branch_ends(post: Post, client: FlaskClient) -> None:
    def line(uuid: str, *blocks: dict[str, Any], side: bool = False) -> str:
        message = {"id": uuid, "role": "assistant", "content": list(blocks)}
        return json.dumps(
            {"type": "assistant", "uuid": uuid, "sessionId": "s1", "isSidechain": side, "message": message}
        )

    text = {"type": "text", "text": "So."}
    lines = [line("a", {"type": "thinking", "thinking": "Hm {"}), line("b", text, side=True), line("c", text)]
    assert post("\n".join(lines).encode(), "s1.jsonl").status_code == 201
    page = client.get("/sessions/s1/turns/0").text
    assert "separate from the answer" in page and "not written by a model" not in page
    assert re.findall(r'class="response inner">\s*<span class="n">(\d+)', page) == ["1"], "indented"
    assert re.search(r"<h2>call path 1</h2>.*turns/1.*<hr>.*turns/2", page, re.DOTALL)


def test_mappings_stand_under_dumps(client: FlaskClient) -> None:
    assert re.search(r'href="/dumps"\s+aria-current="page"', client.get("/mappings").text)


@pytest.fixture
def own_findings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    path = tmp_path / "own.toml"
    path.write_text("[[finding]]\nname='markup'\ntext='<b>'\n[[finding]]\nname='tool'\nin='$.tool'\npattern='^exec$'\n")
    monkeypatch.setenv(own.VARIABLE, str(path))
    for cached in (own.configured, rulebook.rules):
        cached.cache_clear()
    yield
    monkeypatch.delenv(own.VARIABLE)
    for cached in (own.configured, rulebook.rules):
        cached.cache_clear()


@pytest.mark.usefixtures("own_findings")
def test_the_playground_says_which_findings_of_ones_own_stand_in_the_text_and_where(client: FlaskClient) -> None:
    page = client.post("/playground", data={"text": 'x {"tool": "exec"}'}).text
    assert "Your findings: 1 of 2 match this text" in page
    assert "<code>exec</code> in the value, offset" in page
    assert "<code>&lt;b&gt;</code> does not match" in page
    assert "Your findings" not in client.get("/playground").text
