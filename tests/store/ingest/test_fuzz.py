"""Damaged dumps through every door, the store and the pages.

A few ways a file, always the same: what passes once passes again. `python -m benchmarks.fuzz ../shared/corpus` does a
thousand, and other numbers make other ways.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from benchmarks import fuzz
from tests.conftest import ROOT
from webapp.store.ingest.start import IngestResult
from webapp.store.ingest.start import ingest as whole
from webapp.store.models import Turn


def test_nothing_breaks() -> None:
    """Of real dumps where they are beside the checkout, else of the examples."""
    corpus = ROOT.parent / "shared" / "corpus"
    counts = fuzz.run(corpus if corpus.is_dir() else ROOT / "examples", ways=3)
    assert (counts["broken"], counts["ways"]) == (0, 3)
    assert counts["sessions"] > 0 and counts["pages"] > 0
    assert all(counts[f"through_{door}"] > 0 for door in ("ingest", "api", "form", "command"))


def test_a_session_in_part_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def in_part(engine: sa.Engine, *arguments: Any, **options: Any) -> IngestResult:
        done = whole(engine, *arguments, **options)
        with engine.begin() as connection:
            connection.execute(sa.delete(Turn).where(Turn.id == sa.select(sa.func.max(Turn.id)).scalar_subquery()))
        return done

    monkeypatch.setattr(fuzz, "ingest", in_part)
    assert broken(tmp_path) > 0


def test_a_server_error_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: Any, **__: Any) -> IngestResult:
        raise KeyError("x")

    monkeypatch.setattr("webapp.web.dumps.uploads.ingest", fails)
    assert broken(tmp_path) > 0


def test_markup_on_a_page_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchmarks.mutations.HOSTILE", "<main")
    assert broken(tmp_path) > 0


def broken(tmp_path: Path) -> int:
    """Of a way in which something must break; what broke is kept."""
    counts = fuzz.run(ROOT / "examples", ways=1, longest=5_000, keep=tmp_path / "kept")
    assert len(list((tmp_path / "kept").iterdir())) == counts["broken"]
    return counts["broken"]
