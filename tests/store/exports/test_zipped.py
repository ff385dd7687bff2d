"""Dumps of a selection as one streamed zip."""

from __future__ import annotations

import io
import json
import zipfile

from sqlalchemy import orm

from tests.store.made import Bring
from tests.store.sessions.test_selection import key, windlass
from webapp.store.exports import zipped
from webapp.store.sessions import selection


def test_a_name_is_safe_and_used_once_case_aside() -> None:
    used: set[str] = set()
    names = [zipped.unique_name(name, used) for name in ("A", "a", "A", "x" * 200)]
    assert names[:3] == ["A", "a~2", "A~3"] and len(names[3]) < 200


def test_a_zip_is_streamed_with_a_name_for_each(db: orm.Session, bring: Bring) -> None:
    for name in ("A", "a", "../x"):
        bring(windlass(name, name * 1000))
    pieces = list(zipped.stream(db, selection.find(db, [key(db, name) for name in ("A", "a", "../x")])))
    assert len(pieces) > 3
    with zipfile.ZipFile(io.BytesIO(b"".join(pieces))) as archive:
        assert archive.testzip() is None
        assert archive.namelist()[:2] == ["A.json", "a~2.json"]
        assert [json.loads(archive.read(name))["session_id"] for name in archive.namelist()] == ["A", "a", "../x"]
