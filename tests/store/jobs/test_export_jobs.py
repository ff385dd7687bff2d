"""Exports as rows: listed, opened, removed when their time is over, and named as removed then."""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest
import sqlalchemy as sa

from tests.store.jobs.exporting import bring_hostile, content, exported, files, find, of_filters
from tests.store.made import Bring
from webapp.config import BadSetting, Settings
from webapp.store.files import file_store
from webapp.store.jobs import export_jobs
from webapp.store.models import Task
from webapp.store.sessions.filters import Filters

ALL = of_filters(Filters())
Make = Callable[[], Task]


@pytest.fixture
def make(engine: sa.Engine, settings: Settings, bring: Bring) -> Make:
    bring_hostile(bring)
    return lambda: exported(engine, settings, ALL)


def test_a_file_of_two_exports_stays_for_the_second(engine: sa.Engine, settings: Settings, make: Make) -> None:
    first, second = make(), make()
    with engine.begin() as connection:
        connection.execute(sa.update(Task).where(Task.id == second.id).values(result=first.result))
    assert export_jobs.remove(engine, settings, first)
    assert not export_jobs.remove(engine, settings, first)
    assert content(settings, find(engine, second.id))
    assert export_jobs.remove(engine, settings, find(engine, second.id))
    with pytest.raises(export_jobs.ExportRemoved):
        content(settings, find(engine, second.id))


def test_a_file_that_no_export_names_goes_after_a_day(engine: sa.Engine, settings: Settings, make: Make) -> None:
    job = make()
    folder = settings.data / export_jobs.FOLDER
    for name in ("left.zip", "fresh.zip"):
        (folder / name).write_bytes(b"x")
    for name in ("left.zip", f"{(job.result or {})['sha256']}.zip"):
        os.utime(folder / name, (1, 1))
    export_jobs.purge(engine, settings)
    assert not (folder / "left.zip").exists() and len(files(settings)) == 2


def test_a_file_that_somebody_removed_is_said(engine: sa.Engine, settings: Settings, make: Make) -> None:
    job = make()
    file_store(settings).remove(files(settings)[0])
    with pytest.raises(export_jobs.ExportRemoved, match="on another machine"):
        export_jobs.opened(settings, job)


@pytest.mark.parametrize("text", ["0", "x", "-1", "3651", "1.5"])
def test_the_days_are_a_number(text: str) -> None:
    with pytest.raises(BadSetting, match="FENCEPOST_EXPORT_DAYS must be a number of days from 1 to 3650"):
        Settings.from_environment({"FENCEPOST_EXPORT_DAYS": text})
    assert Settings.from_environment({"FENCEPOST_EXPORT_DAYS": "30"}).environment()["FENCEPOST_EXPORT_DAYS"] == "30"
