"""What an entry says beside its text: how many rounds it may take."""

from __future__ import annotations

from typing import Any


def most_rounds(source: Any) -> int | None:
    """The limit of rounds that an entry sets for what follows it (Windlass: the phase's `max_turns`)."""
    metadata = source.get("metadata") if isinstance(source, dict) else None
    value = metadata.get("max_turns") if isinstance(metadata, dict) else None
    return value if isinstance(value, int) and not isinstance(value, bool) else None
