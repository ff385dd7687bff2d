"""Kept, broken, not declared and not checked are all: every list, facet, group, export and command counts alike.

What each call must be is said by jsonschema over the requests that were made, and by how they were made wrong.
"""

from __future__ import annotations

import csv
import io
import json
import random
import re
from collections import Counter, defaultdict
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from flask import Flask
from flask.testing import FlaskClient

from tests.contracts.dialects import DIALECTS, errors, request
from webapp.cli import main
from webapp.contracts.contract import BROKEN, STATES

NOT_CHECKED = {"type": "nothing that there is"}
WRITTEN = ("chat", "responses")
"""dialects that hold arguments as the model wrote them, so that they may be no JSON"""
Place = tuple[str, int]
"""a session, and the turn in it"""


def line(dialect: Callable[..., dict[str, Any]], chance: random.Random, number: int) -> tuple[dict[str, Any], str]:
    """An exchange, and the state that its call must have."""
    tools, name, value = request(chance, number)
    kind = chance.choice(["held"] * 4 + ["silent", "unusable", "cut", "cut", "renamed"])
    name = "tt" if kind == "renamed" else name
    if kind == "unusable":
        return dialect([*tools[:1], ("t", NOT_CHECKED)], "t", value), "not_checked"
    made = dialect(tools, name, value)
    if kind == "cut" and dialect.__name__ in WRITTEN:
        written = json.dumps(json.dumps(value))
        return json.loads(json.dumps(made).replace(written, json.dumps(json.dumps(value)[:-1]))), "invalid_json"
    if kind == "silent":
        for key in ("tools", "toolConfig"):
            made["request"].pop(key, None)
        return made, "not_declared"
    if name not in dict(tools):
        return made, "unknown_name"
    return made, "schema_mismatch" if errors(dict(tools)[name], value) else "kept"


@pytest.fixture
def expected(tmp_path: Path, post: Callable[..., Any], client: FlaskClient) -> dict[Place, str]:
    """The states of all calls of six sessions, each in a dialect of its own."""
    chance, states = random.Random(3), dict[Place, str]()
    for dialect in DIALECTS:
        lines = [line(dialect, chance, number) for number in range(8)]
        (file := tmp_path / "logs" / f"{dialect.__name__}.jsonl").parent.mkdir(exist_ok=True)
        file.write_text("".join(f"{json.dumps(made)}\n" for made, _ in lines))
        (name,) = post(file.read_bytes(), file.name).get_json()["sessions"]
        turns = client.get(f"/api/session/{name}?limit=100").get_json()["turns"]
        positions = [turn["position"] for turn in turns if turn["kind"] == "tool_call"]
        states |= {(name, at): state for at, (_, state) in zip(positions, lines, strict=True)}
    assert min(Counter(states.values())[state] for state in STATES) > 0, Counter(states.values())
    return states


def test_every_state_is_counted_alike_everywhere(
    client: FlaskClient, expected: dict[Place, str], tmp_path: Path, app: Flask
) -> None:
    run = partial(CliRunner().invoke, main, env={"FENCEPOST_DATA": str(tmp_path), "FENCEPOST_DATABASE": ""})
    check(client, expected, tmp_path / "logs", run)
    assert run(["db", "reindex"]).exit_code == 0
    assert by_contract(client) == Counter(expected.values())


def check(client: FlaskClient, expected: dict[Place, str], folder: Path, run: Callable[..., Any]) -> None:
    from webapp.commands._mcp_server import Tools  # here: a second that others need not pay

    counts = Counter(expected.values())
    broken = {place: state for place, state in expected.items() if state in BROKEN}
    assert {place: turn(client, place)["state"] for place in expected} == expected
    for state in (*STATES, "broken"):
        places = {place for place in expected if state in (expected[place], "broken" if place in broken else None)}
        assert listed(client, f"contract={state}") == places
        assert {name for name, _ in listed(client, f"contract={state}&tool=t")} <= {name for name, _ in places}
        sessions = {name for name, _ in places}
        found = client.get(f"/api/sessions?contract={state}").get_json()
        assert {one["id"] for one in found["sessions"]} == sessions and found["total"] == len(sessions)
        told = Tools(client).list_sessions({"contract": state}, limit=100)
        assert {one["id"] for one in told["sessions"]} == sessions
    gate = json.loads(run(["check", "--contract", "--json"]).stdout)
    assert {(one["session"], one["position"]) for one in gate["responses"]} == broken.keys()
    assert listed(client, "failed=1") == broken.keys() == listed(client, "contract=broken")
    facet: dict[str, set[str]] = defaultdict(set)
    for (name, _), state in expected.items():
        facet[state].add(name)
        if state in BROKEN:
            facet["broken"].add(name)
    facets = client.get("/api/sessions").get_json()["facets"]["contract"]
    assert facets == {state: len(names) for state, names in facet.items()}
    assert by_contract(client) == counts
    assert sum(group["count"] for group in client.get("/api/failures?limit=100").get_json()["failures"]) == len(broken)
    scanned = scan_checks(json.loads(run(["scan", "--json", str(folder)]).stdout))
    for name in {name for name, _ in expected}:
        own = Counter(state for place, state in expected.items() if place[0] == name)
        result = run(["contract", "--json", str(folder / f"{name}.jsonl")])
        states = json.loads(result.stdout)["states"]
        assert Counter(states) == own and result.exit_code == any(own[state] for state in BROKEN)
        checks = scanned[name]
        assert checks["arguments_fit"] == ("broken" if own["schema_mismatch"] else "kept")
        assert checks["names_declared"] == ("broken" if own["unknown_name"] else "kept")
    exported(client, expected)


def turn(client: FlaskClient, place: Place) -> dict[str, Any]:
    found: dict[str, Any] = client.get(f"/api/session/{place[0]}/turns/{place[1]}").get_json()["contract"]
    return found


def listed(client: FlaskClient, query: str) -> set[Place]:
    """All pages of the list of responses, whose total is how many there are."""
    places, after = list[Place](), ""
    while True:
        page = client.get(f"/api/responses?{query}&limit=20{after}").get_json()
        places += [(one["session"], one["position"]) for one in page["responses"]]
        if page["next"] is None:
            assert page["total"] == len(places) == len(set(places))
            return set(places)
        after = f"&after={page['next']}"


def by_contract(client: FlaskClient) -> Counter[str]:
    """The groups of the page that counts responses by their state."""
    page = client.get("/responses?by=contract").get_data(as_text=True)
    rows = re.findall(r'contract=(\w+)">\w+</a></th>\s*<td class="num">(\d+)', page)
    return Counter({state: int(count) for state, count in rows})


def scan_checks(document: dict[str, Any]) -> dict[str, dict[str, str]]:
    """The state of each check, by session."""
    sessions = document["sessions"]
    return {one["id"]: {name: found["state"] for name, found in one["checks"].items()} for one in sessions}


def exported(client: FlaskClient, expected: dict[Place, str]) -> None:
    """What is labelled is exported with its state."""
    for name, position in expected:
        client.put(f"/api/session/{name}/turns/{position}/label", json={"author": "ann", "judgement": "right"})
    told = {
        "csv": [*csv.DictReader(io.StringIO(client.get("/api/labels/export?format=csv").get_data(as_text=True)))],
        "jsonl": [json.loads(one) for one in client.get("/api/labels/export?format=jsonl").get_data().splitlines()],
    }
    for rows in told.values():
        states = {(row["session"], int(row["position"])): row["contract"] or "not_declared" for row in rows}
        assert states == expected
