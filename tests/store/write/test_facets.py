"""Facets: what is counted over a session's turns while they are written, growth included."""

from __future__ import annotations

import pytest
from sqlalchemy import orm

from tests.store import made
from tests.store.made import BROKEN, CALL, Bring, entry, windlass
from webapp.dumps.records import Turn
from webapp.store.sessions import sessions
from webapp.store.write import facets
from webapp.store.write.facets import Facets, kind_of

FIRST = [
    entry(BROKEN, model="m1", phase_name="plan"),
    entry("no", "validation_error"),
    entry(CALL, model="m2", phase_name="act"),
]


def test_what_is_counted(bring: Bring, db: orm.Session) -> None:
    bring(windlass("s", FIRST))
    session = sessions.find(db, "s")
    counts = made.facets(db, "s")
    assert counts["verdict windlass-strict"] == counts["verdict home"] == {"extracted": 1, "failed": 1}
    assert counts["verdict fencepost"] == {"extracted": 1, "repaired": 1}
    assert sum(counts["repair fencepost"].values()) >= 1
    assert sum(counts["strategy windlass-strict"].values()) == 2
    assert counts["strategy windlass-strict"][""] == 1
    assert counts["model"] == {"m1": 1, "m2": 1}
    assert (counts["model home failed"], counts["model fencepost repaired"]) == ({"m1": 1}, {"m1": 1})
    assert counts["phase"] == {"act": 1, "plan": 1}
    assert sum(counts["error"].values()) == 2
    assert counts["error"]["no"] == 1
    assert session.raw_bytes == len((BROKEN + "no" + CALL).encode())
    assert session.changed > 0


@pytest.mark.parametrize(
    ("message", "kind"),
    [
        ("Expecting ',' delimiter: line 12 column 3 (char 345)", "Expecting '…' delimiter: line N column N (char N)"),
        ('field "name" is\n  missing', 'field "…" is missing'),
        ("0xdeadbeef -1.5e", "N Ne"),
        ("", "other"),
        ("é" * 200, "é" * 79 + "…"),
    ],
)
def test_kinds_of_errors(message: str, kind: str) -> None:
    assert kind_of(message) == kind


def test_further_kinds_are_counted_together() -> None:
    counted = Facets("direct")
    for number in range(100):
        counted.failure("x" * number + "!")
    assert len(counted.counts) == facets.MOST_KINDS + 1
    assert counted.counts["error", facets.OTHER] == 100 - facets.MOST_KINDS


@pytest.mark.parametrize(
    ("calls", "names"),
    [
        ([{"function": {"name": "run_code"}}], ["run_code"]),
        ([{"tool": "a"}, {"name": "b"}, "c", 4, None, {"function": "d"}, {}], ["a", "b", "c", "d"]),
    ],
)
def test_names_of_tools(calls: list, names: list[str]) -> None:  # type: ignore[type-arg]
    counted = Facets("direct")
    counted.turn(Turn(0, "response", tool_calls=calls))
    assert [value for _, value in counted.counts] == names
