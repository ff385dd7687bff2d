"""Findings are kept with their session, are the same when they are found anew, and stand in its dump."""

from __future__ import annotations

import sqlalchemy as sa
from sqlalchemy import orm

from tests.store.made import BROKEN, Bring, entry, windlass
from webapp import jsontext
from webapp.store import derive
from webapp.store.exports import session_dump
from webapp.store.models import Finding
from webapp.store.sessions import sessions
from webapp.store.write import stored_turns

LOST = [entry("go", "turn_input"), entry(BROKEN), entry("The script ran successfully.")]


def kept(db: orm.Session, name: str) -> dict[str, list[int]]:
    db.expire_all()
    return {finding.rule: finding.turns for finding in stored_turns.findings_of(db, sessions.find(db, name).id)}


def test_stored_sessions_get_what_a_new_rule_finds(bring: Bring, db: orm.Session, engine: sa.Engine) -> None:
    for name in ("s1", "s2"):
        bring(windlass(name, LOST))
    db.execute(sa.delete(Finding).where(Finding.rule == "claimed_result"))  # as if that rule had come later
    db.commit()
    steps: list[tuple[int, int]] = []
    assert derive.reindex(engine, every=True, on_progress=lambda *step: steps.append(step)) == 2
    assert steps == [(1, 2), (2, 2)]
    assert kept(db, "s1") == kept(db, "s2") == {"lost_tool_call": [1], "claimed_result": [2]}


def test_they_stand_in_the_dump_which_changes_nothing_when_it_comes_back(bring: Bring, db: orm.Session) -> None:
    bring(windlass("s1", LOST))
    written = b"".join(session_dump.stream(db, sessions.find(db, "s1")))
    findings = jsontext.loads(written)["fencepost"]["findings"]
    assert [(each["rule"], each["turns"]) for each in findings] == [("lost_tool_call", [1]), ("claimed_result", [2])]
    assert findings[0]["reason"] == "One tool call was written and never ran: extra closing bracket."
    assert not bring(written).created
