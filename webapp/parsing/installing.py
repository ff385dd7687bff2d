"""Parsers of somebody's own that cannot run here, and why: nothing else needs what may not be installed."""

from __future__ import annotations

from typing import Any

from webapp.parsing import engine
from webapp.refusals import NotPossible


class NotInstalled(NotPossible):
    """A profile cannot run here; the message says why."""

    status, code = 409, "not_installed"


def reason(profile: Any) -> str | None:
    """Why a configured parser cannot run, which is what came of starting it; None where it can."""
    trouble: str | None = getattr(profile, "trouble", None)
    return trouble


ABSENT = "absent"
"""the version of a trace that only says that the parser cannot run"""


def not_run(profile: str, version: str) -> str | None:
    """Why a trace of this version is none; None for every other trace."""
    if version != ABSENT:
        return None
    return reason(engine.profiles().get(profile)) or f"{profile} could not run"


def refuse_absent(profile: Any) -> None:
    if words := reason(profile):
        raise NotInstalled(f"{profile.name} cannot run, since {words}")
