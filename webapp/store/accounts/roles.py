"""Rights, which routes ask for, and roles, which accounts have."""

from __future__ import annotations

READ, LABEL, INGEST, ADMIN = "read", "label", "ingest", "admin"
RIGHTS = {
    READ: "see, search and export what is stored",
    LABEL: "label, save views, run profiles, export in the background, work on failure groups",
    INGEST: "send logs and spans, without seeing what is stored",
    ADMIN: "delete sessions, set their parser, manage accounts, read the audit log",
}
"""what a role holds and an API token may be made for"""
ALL = frozenset(RIGHTS)
ROLES = {"reader": frozenset({READ}), "labeler": frozenset({READ, LABEL}), "admin": ALL}


class BadRole(ValueError):
    """There is no such role or right; the message lists those that there are."""


def checked_role(role: str) -> str:
    """Raises `BadRole`."""
    if role not in ROLES:
        raise BadRole(f"a role is one of {', '.join(ROLES)}, not {role[:100]!r}")
    return role


def checked_scopes(scopes: list[str]) -> str:
    """Rights in the order of `RIGHTS`, as they are stored; raises `BadRole`."""
    wrong = [scope for scope in scopes if scope not in RIGHTS]
    if wrong or not scopes:
        raise BadRole(f"an API token has one or more of the scopes {', '.join(RIGHTS)}")
    return " ".join(right for right in RIGHTS if right in scopes)
