"""Facets: what is counted over a session's turns while they are written, growth included."""

from __future__ import annotations

import pytest
from sqlalchemy import orm

from tests.store.made import BROKEN, CALL, Bring, entry, windlass
from webapp import parsing
from webapp.dumps.records import Turn
from webapp.store.sessions import sessions
from webapp.store.write import facets
from webapp.store.write.facets import Facets, digest, kind_of

FIRST = [
    entry(BROKEN, model="m1", phase_name="plan"),
    entry("no", "validation_error"),
    entry(CALL, model="m2", phase_name="act"),
]


def test_what_is_counted(bring: Bring, db: orm.Session) -> None:
    bring(windlass("s", FIRST))
    session = sessions.find(db, "s")
    assert session.facets is not None
    home, ours = session.facets["profiles"]["windlass-strict"], session.facets["profiles"]["fencepost"]
    assert home["verdicts"] == [0, 1, 0, 1, 0]
    assert ours["verdicts"] == [0, 1, 1, 0, 0]
    assert sum(ours["repairs"].values()) >= 1
    assert sum(home["won"].values()) == 2
    assert home["won"][""] == 1
    assert session.facets["models"] == {"m1": [0, 0, 0, 1, 0, 0, 0, 1, 0, 0], "m2": [0, 1, 0, 0, 0, 0, 1, 0, 0, 0]}
    assert session.facets["phases"] == ["plan", "act"]
    assert sum(session.facets["errors"].values()) == 2
    assert session.facets["errors"]["no"] == 1
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
    counted = Facets()
    for number in range(100):
        counted.failure("x" * number + "!")
    assert len(counted.errors) == facets.MOST_KINDS + 1
    assert counted.errors[facets.OTHER] == 100 - facets.MOST_KINDS


def test_a_digest_says_what_won() -> None:
    made = digest(parsing.parse('Here: {"a": 1,}', "fencepost"))
    assert (made.profile, made.verdict, made.error) == ("fencepost", 2, None)
    assert made.repairs == ("trailing_comma",)
    assert made.strategy


@pytest.mark.parametrize(
    ("calls", "names"),
    [
        ([{"function": {"name": "run_code"}}], ["run_code"]),
        ([{"tool": "a"}, {"name": "b"}, "c", 4, None, {"function": "d"}, {}], ["a", "b", "c", "d"]),
    ],
)
def test_names_of_tools(calls: list, names: list[str]) -> None:  # type: ignore[type-arg]
    counted = Facets()
    counted.turn(Turn(0, "response", tool_calls=calls))
    assert list(counted.tools) == names
