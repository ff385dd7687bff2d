"""The groups in which lists show profiles: what people write by hand first, field reports last."""

from __future__ import annotations

from typing import Any

FENCEPOST = "Fencepost"
BY_HAND = "Written by hand"
LIBRARIES = "Libraries"
ARGUMENTS = "Arguments of native calls"
SERVERS = "Model servers"
AGENTS = "Coding agents"
REPORTS = "Field reports"
OWN = "Your own"
GROUPS = (OWN, FENCEPOST, BY_HAND, LIBRARIES, ARGUMENTS, SERVERS, AGENTS, REPORTS)
RESTATED = (LIBRARIES, ARGUMENTS)  # held against a release, and failed where they give nothing


def group_of(profile: Any) -> str:
    """A profile's group: what it says itself, else by its report; one that says nothing is somebody's own."""
    group: str | None = getattr(profile, "group", None)
    return group or (REPORTS if getattr(profile, "report", None) else OWN)
