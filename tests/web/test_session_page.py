"""The page of a session without JavaScript: its sentence, findings, windows, lanes, rounds, folds and search."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from flask.testing import FlaskClient

from webapp import jsontext
from webapp.app import create_app
from webapp.config import Settings
from webapp.extensions import db
from webapp.web.templating import failure_words, spent_words

EXAMPLES = Path(__file__).parents[2] / "examples"
NEVER = "ui_run_764686752e2f"
STORM = "ui_run_290d98ad0e68"
CIRCLE = "circle_2025-12-05_extraction"
CALL = '```json\n{"tool": "run_code", "arguments": {"code": "1"}}\n```'


LONG = [
    {"node_type": "agent", "role": "agent", "content": f"{CALL} {number}", "timestamp": 1764772920.0 + number * 7}
    for number in range(250)
]
LONG[230]["content"] = CALL.replace("}}", "}}}}")


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory, migrated: Path) -> Iterator[FlaskClient]:
    """Of one server for all tests here, which change nothing: with the examples and a long session."""
    folder = tmp_path_factory.mktemp("session_page")
    file = shutil.copyfile(migrated, folder / "fencepost.sqlite3")
    app = create_app(Settings(data=folder, database=f"sqlite:///{file}", home="fencepost"))
    client = app.test_client()
    dumps = {path.name: path.read_bytes() for path in sorted(EXAMPLES.iterdir()) if path.suffix != ".md"}
    dumps["long.json"] = jsontext.dumps({"session_id": "long", "entries": LONG}).encode()
    for name, body in dumps.items():
        assert client.post("/api/dumps", query_string={"filename": name}, data=body).status_code == 201
    yield client
    with app.app_context():
        db.engine.dispose()


def html(client: FlaskClient, path: str, **headers: str) -> str:
    response = client.get(path, headers=headers)
    assert response.status_code == 200
    return response.text


def shown(page: str) -> list[int]:
    return [int(position) for position in re.findall(r'<li class="turn [^"]*" id="t(\d+)"', page)]


def test_one_sentence_says_what_went_wrong(client: FlaskClient) -> None:
    page = html(client, f"/sessions/{NEVER}")
    says = re.search(r'<p class="says">(.*?)</p>', page, re.DOTALL)
    assert says
    assert says[1].startswith("2 tool calls were written, none ran: extra closing bracket; the agent then described")
    assert "2 of 7 responses failed" in says[1]


def test_findings_lead_to_their_turns_and_mark_them(client: FlaskClient) -> None:
    page = html(client, f"/sessions/{NEVER}")
    assert f'href="/sessions/{NEVER}?at=12#t12"' in page
    row = page[page.index('id="t16"') :].partition("</li>")[0]
    assert "claimed result" in row


def test_a_clean_session_says_so_and_shows_no_finding(client: FlaskClient) -> None:
    page = html(client, "/sessions/support-desk-clean")
    assert re.search(r"\d+ responses, none failed\.", page)
    assert 'class="findings"' not in page


def test_soundings_stand_side_by_side(client: FlaskClient) -> None:
    page = html(client, f"/sessions/{STORM}")
    lanes = page[page.index('<div class="lanes"') :]
    assert re.findall(r"<h3>(call path \d) ", lanes)[:3] == ["call path 0", "call path 1", "call path 2"]


def test_rounds_are_a_matrix_in_which_the_absent_are_seen(client: FlaskClient) -> None:
    page = html(client, f"/sessions/{CIRCLE}")
    matrix = page[page.index('<table class="matrix"') :].partition("</table>")[0]
    gemini = matrix[matrix.index("gemini") :].partition("</tr>")[0]
    assert re.findall(r"/turns/(\d+)", gemini) == ["4", "8"]
    assert "absent" in gemini


def test_merged_entries_are_counted_once_and_both_can_be_seen(client: FlaskClient) -> None:
    page = html(client, f"/sessions/{NEVER}/turns/12")
    listed = page[page.index('class="turn-list"') :].partition("</nav>")[0]
    assert "×2" in listed[listed.index("aria-current") :].partition("</a>")[0]
    assert "turn_output" in page.partition("Logged again")[2].partition("</details>")[0]


def test_prompts_and_events_fold_and_the_address_opens_them(client: FlaskClient) -> None:
    assert "<details open" not in html(client, f"/sessions/{NEVER}")
    page = html(client, f"/sessions/{NEVER}?open=8-x-13")
    assert re.findall(r'<details open data-fold="(\d+)"', page) == ["8", "13"]
    everything = html(client, f"/sessions/{NEVER}?show=all")
    of_header = sum(everything.count(f'<details class="{name}"') for name in ("parser", "window"))
    assert everything.count("<details open") == everything.count("<details ") - of_header


def test_windows_have_links_to_those_beside_them(client: FlaskClient) -> None:
    page = html(client, "/sessions/long?from=130")
    assert shown(page) == list(range(100, 200))
    assert 'href="/sessions/long?from=0" rel="prev"' in page
    assert 'href="/sessions/long?from=200" rel="next"' in page
    assert "turns 100–199 of 250" in page


def test_a_window_alone_is_what_the_page_shows_first(client: FlaskClient) -> None:
    part = html(client, "/sessions/long?from=200", **{"HX-Request-Type": "partial"})
    assert part.lstrip().startswith('<div class="window" data-first="200">')
    assert shown(part) == list(range(200, 250))
    assert part.strip() in html(client, "/sessions/long?from=200")


@pytest.mark.parametrize("query", ["from=999999999", "from=-5", "from=x", "at=249", "open=99999999999999", "after=x"])
def test_no_address_breaks_it(client: FlaskClient, query: str) -> None:
    assert shown(html(client, f"/sessions/long?{query}"))


def test_waiting_is_counted_across_windows(client: FlaskClient) -> None:
    part = html(client, "/sessions/long?from=100", **{"HX-Request-Type": "partial"})
    first = part[part.index('id="t100"') :].partition("</li>")[0]
    assert "+7.0 s" in first


def test_one_failed_turn_among_many_is_told_and_drawn(client: FlaskClient) -> None:
    page = html(client, "/sessions/long")
    assert "1 of 250 responses failed" in page
    assert 'href="/sessions/long?at=230#t230" data-at="230" data-key="f"' in page
    assert page.count('<rect class="failed q4"') == 1 and "1 of 3 responses failed, 33.33 %" in page


def test_search_inside_finds_the_turn(client: FlaskClient) -> None:
    page = html(client, f"/sessions/{NEVER}?q=trial+division")
    hits = page[page.index('class="hits"') :].partition("</section>")[0]
    assert f"/sessions/{NEVER}/turns/28" in hits
    assert "<mark>" in hits
    assert "No match in this session" in html(client, f"/sessions/{NEVER}?q=zebra")


def test_a_mark_of_the_strip_leads_to_its_turn(client: FlaskClient) -> None:
    assert client.get(f"/sessions/{NEVER}/responses/1").headers["Location"].endswith("/turns/12")
    assert client.get(f"/sessions/{NEVER}/responses/0?of=3").headers["Location"].endswith("/turns/12")
    assert client.get(f"/sessions/{NEVER}/responses/7").status_code == 404


def test_the_api_has_the_findings_with_their_reasons(client: FlaskClient) -> None:
    found = client.get(f"/api/session/{NEVER}").get_json()["findings"]
    assert [finding["rule"] for finding in found][:2] == ["lost_tool_call", "claimed_result"]
    assert found[0]["turns"] == [12, 28]
    assert found[0]["reason"] == "2 tool calls were written, none ran: extra closing bracket."


def test_a_recorded_failure_is_one_sentence_with_what_fencepost_makes_of_it() -> None:
    turn = SimpleNamespace(recorded_failure="The arguments are not valid JSON.", rescued=True)
    assert failure_words(turn, None) == "The arguments are not valid JSON; Fencepost can read it"
    turn = SimpleNamespace(recorded_failure="a" * 300, rescued=False)
    assert failure_words(turn, None) == f"{'a' * 100} … 100 characters … {'a' * 100}"


def test_little_is_not_nothing_among_what_was_spent() -> None:
    said = dict.fromkeys(("tokens_in_said", "tokens_out_said", "cost_said", "seconds_said"), 2)
    little = {"tokens_in": 1, "tokens_out": 0, "cost": 0.00001, "seconds": 0.004}
    assert spent_words(little | said, 2) == "1 token in, 0 tokens out, <$0.0001, <0.1 s"
    nothing = dict.fromkeys(("tokens_in", "tokens_out", "cost", "seconds"), 0)
    assert spent_words(nothing | said, 2) == "0 tokens in, 0 tokens out, $0, 0.0 s"
