"""The list of dumps, and finding one."""

from __future__ import annotations

import json

import pytest
from sqlalchemy import orm

from tests.store.made import Bring, entry
from webapp.store.sessions import dumps


def test_no_such_dump(db: orm.Session) -> None:
    for ident in ["", "0", "-1", "٣", "\0", "\ud800", "9" * 30, "f" * 64, 2**62]:
        with pytest.raises(dumps.NoSuchDump):
            dumps.find(db, ident)


def test_a_dump_of_many_sessions_names_the_first(bring: Bring) -> None:
    entries = [entry("x", session_id=f"s{number:02}", timestamp=1.0) for number in range(30)]
    done = bring("\n".join(json.dumps(one) for one in entries).encode(), filename="many.jsonl")
    assert done.dump.session_count == len(done.sessions) == 30
    assert [link.external_id for link in done.dump.sessions] == [f"s{number:02}" for number in range(20)]
