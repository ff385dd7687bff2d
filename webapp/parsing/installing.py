"""Profiles whose library is not installed: which they are, and the one command that installs it into this copy."""

from __future__ import annotations

from typing import Any

from webapp.extras import install_command
from webapp.parsing import engine


class NotInstalled(LookupError):
    """A profile cannot run here; the message says what is missing and the command that installs it."""


def absent(profile: Any) -> str | None:
    """The distribution without which a profile cannot run, where it is not installed; None where it can."""
    missing: str | None = getattr(profile, "absent", None)
    return missing


def restated(profile: Any) -> str | None:
    """The distribution that is not installed, so that our re-statement of its parser runs; None elsewhere."""
    distribution: str | None = getattr(profile, "distribution", None)
    return distribution if distribution and not profile.installed else None


def reason(profile: Any) -> str | None:
    """Why a profile cannot run, with the command: `json-repair is not installed: python -m pip install json-repair`.

    Of a configured parser, what came of starting it.
    """
    trouble: str | None = getattr(profile, "trouble", None)
    if trouble:
        return trouble
    missing = absent(profile)
    return f"{missing} is not installed: {install_command(missing)}" if missing else None


ABSENT = "absent"
"""the version of a trace that only says that the library is not installed"""


def not_run(profile: str, version: str) -> str | None:
    """Why a trace of this version is none, with the command; None for every other trace."""
    if version != ABSENT:
        return None
    return reason(engine.profiles().get(profile)) or f"the library of {profile} was not installed"


def refuse_absent(profile: Any) -> None:
    if words := reason(profile):
        raise NotInstalled(f"{profile.name} cannot run, since {words}")
