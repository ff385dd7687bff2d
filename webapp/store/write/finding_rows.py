"""Findings as rows, and as dumps and the API say them."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from sqlalchemy import orm

from webapp import findings
from webapp.findings import RuleFinding
from webapp.store.models import Finding


def findings_of(db: orm.Session, session_id: int) -> list[Finding]:
    """The findings of a session, what weighs most first."""
    order = {name: rank for rank, name in enumerate(findings.rules())}
    rows = db.scalars(sa.select(Finding).where(Finding.session_id == session_id).order_by(Finding.id))
    return sorted(rows, key=lambda finding: order.get(finding.rule, len(order)))


def as_dict(finding: Finding) -> dict[str, Any]:
    """A finding as dumps and the API say it; `reason` is its sentence, `turns` are positions."""
    return {
        "rule": finding.rule,
        "severity": finding.severity,
        "reason": findings.reason(finding),
        "turns": finding.turns,
        "detail": finding.detail,
    }


def row(session_id: int, finding: RuleFinding) -> dict[str, Any]:
    """A finding as its table keeps it."""
    return {
        "session_id": session_id,
        "rule": finding.rule,
        "severity": finding.severity,
        "turns": list(finding.turns),
        "detail": finding.detail,
    }
