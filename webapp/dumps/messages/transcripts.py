"""Conversations written as one text, as data sets of preferences have them: "\\n\\nHuman: …\\n\\nAssistant: …"."""

from __future__ import annotations

import re

_SPEAKER = re.compile(r"(?:\A|\n\n)(Human|Assistant|System):[ \t]?")
_ROLES = {"Human": "user", "Assistant": "assistant", "System": "system"}


def transcript(value: str) -> list[tuple[str, str]]:
    """What each said, as role and text; nothing where it is no transcript that both speak in."""
    marks = list(_SPEAKER.finditer(value))
    speakers = {mark[1] for mark in marks}
    if not marks or value[: marks[0].start()].strip() or not {"Human", "Assistant"} <= speakers:
        return []
    ends = [mark.start() for mark in marks[1:]] + [len(value)]
    return [(_ROLES[mark[1]], value[mark.end() : end]) for mark, end in zip(marks, ends, strict=True)]
