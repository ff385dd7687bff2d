"""The home that follows from the program which a log names, and in words from what it was inferred."""

from __future__ import annotations

import re
from typing import Any

from webapp.dumps.programs import KEY
from webapp.parsing import engine

SOURCE = "program"
NATIVE = "native"
_NATIVE = ("claude-code", "codex", "gemini-cli", "google-adk", "kimi-cli", "openai-agents", "opencode")
"""programs that take calls from their model's API alone: a text is shown to people"""
_RELEASE = re.compile(r"restated-([\w.]+)")


def profile_of(extra: dict[str, Any]) -> str | None:
    """The profile that reads as the session's program; None where the log names none."""
    program = _program(extra)
    if program is None:
        return None
    return NATIVE if program["name"] in _NATIVE else str(program["name"])


def evidence(home: str, source: str, extra: dict[str, Any] | None) -> str | None:
    """From what a home was inferred, with the version that the log names and the release that the profile restates."""
    program = _program(extra or {})
    if source != SOURCE or program is None:
        return None
    version, restated = program.get("version"), _RELEASE.match(engine.profile(home).version)
    words = f"Its parser is inferred from {program.get('seen')}"
    words += f", version {version}" if version else ", which does not say its version" if restated else ""
    if restated and version != restated[1]:
        words += f"; the profile is that of release {restated[1]}, and another one may read otherwise"
    return f"{words}."


def _program(extra: dict[str, Any]) -> dict[str, Any] | None:
    program = extra.get(KEY)
    return program if isinstance(program, dict) and isinstance(program.get("name"), str) else None
