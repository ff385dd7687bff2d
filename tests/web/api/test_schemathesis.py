"""Schemathesis finds nothing: few requests here, thousands by `python -m benchmarks.fuzz_api`."""

from __future__ import annotations

from pathlib import Path

import pytest
import sqlalchemy as sa

from benchmarks import fuzz_api
from tests.store.conftest import SERVER, postgres
from webapp.config import Settings
from webapp.extensions import db
from webapp.store.models import Base
from webapp.web import worker_process
from webapp.web.api import openapi

__all__ = ["postgres"]
EXAMPLES = 2
"""drawn for each operation, as the description has it and against it"""


@pytest.mark.parametrize(
    ("engine", "token"),
    [("sqlite", None), pytest.param("postgres", fuzz_api.TOKEN, marks=pytest.mark.postgres)],
    ids=["sqlite-open", "postgres-token"],
)
def test_nothing_that_is_answered_contradicts_the_description(
    request: pytest.FixtureRequest, tmp_path: Path, engine: str, token: str | None
) -> None:
    is_file = engine == "sqlite"
    database = f"sqlite:///{tmp_path / 'f.db'}" if is_file else f"{SERVER}/{request.getfixturevalue('postgres')}"
    app = fuzz_api.filled(Settings(data=tmp_path, database=database, token=token))
    try:
        outcome = fuzz_api.run(app, examples=EXAMPLES, seed=1, edges=False)
        assert outcome.found == {}
        every = {f"{method.upper()} {path}" for path, method, _, _ in openapi.operations(app)}
        assert every - outcome.operations == {"GET /api/openapi.json"}  # which it read before
        assert outcome.requests > len(every)
    finally:
        worker_process.of(app).close()
        with app.app_context():
            if not is_file:
                emptied(db.engine)
            db.engine.dispose()


def emptied(engine: sa.Engine) -> None:
    with engine.begin() as connection:
        for table in reversed(Base.metadata.sorted_tables):
            connection.execute(table.delete())
