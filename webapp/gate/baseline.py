"""The baseline: what a profile made of each response when somebody last looked, as sorted JSON lines to commit."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from webapp import jsontext
from webapp.gate import samples
from webapp.gate.samples import BadLines, Sample
from webapp.parsing import Trace
from webapp.parsing.edit import apply

LONGEST_VALUES = 100_000
"""characters of JSON; of longer values a baseline holds their digest alone"""


@dataclass(frozen=True, slots=True)
class SampleReading:
    """What a profile made of one response. `digest` is the same for the same values, [] for none; `values` is None
    where they are too long or too deep to be written down. `text` is the sha256 of the response."""

    id: str
    text: str
    verdict: str
    digest: str
    values: tuple[Any, ...] | None

    def line(self) -> str:
        row = {"id": self.id, "text": self.text, "verdict": self.verdict, "digest": self.digest}
        values = None if self.values is None else jsontext.marked(list(self.values))
        return json.dumps(row | {"values": values}, ensure_ascii=True, sort_keys=True)


def reading(sample: Sample, trace: Trace) -> SampleReading:
    """What a trace says, without anything that changes from run to run."""
    values, digest = digested(sample.text, trace)
    return SampleReading(sample.id, sample.sha256, trace.verdict, digest, values)


def digested(raw: str, trace: Trace) -> tuple[tuple[Any, ...] | None, str]:
    """The values and their digest; where they are too deep to be written, None and the digest of the decoded texts."""
    text = jsontext.canonical(trace.values)
    if text is None:
        attempts = [trace.attempts[index] for index in trace.chosen]
        texts = [apply(raw, attempt.span, attempt.edits).strip() for attempt in attempts]
        return None, digest_of("\0".join(["too deep", *texts]))
    return (trace.values if len(text) <= LONGEST_VALUES else None), digest_of(text)


def digest_of(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def read(path: Path) -> dict[str, SampleReading]:
    """The readings by id; raises `BadLines` for a line that is none, and for an id that occurs there twice."""
    readings: dict[str, SampleReading] = {}
    with path.open("rb") as file:
        for number, row in samples.rows(file, str(path)):
            texts = [row.get(name) for name in ("id", "text", "verdict", "digest")]
            values = row.get("values")
            if not all(isinstance(text, str) and text for text in texts) or not isinstance(values, list | None):
                raise BadLines(f"{path}, line {number}: no line of a baseline")
            if texts[0] in readings:
                raise BadLines(f"{path}, line {number}: the id {texts[0]!r} occurs there twice")
            ident, text, verdict, digest = map(str, texts)
            readings[ident] = SampleReading(ident, text, verdict, digest, None if values is None else tuple(values))
    return readings


def write(path: Path, readings: Iterable[SampleReading]) -> None:
    """Write the baseline, sorted by id, in one step: whoever reads meanwhile has the old one or the new one."""
    lines = [f"{reading.line()}\n" for reading in sorted(readings, key=lambda reading: reading.id)]
    path.parent.mkdir(parents=True, exist_ok=True)
    number, draft = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(number, "w", encoding="ascii", newline="\n") as file:
            file.writelines(lines)
            file.flush()
            os.fsync(file.fileno())
        Path(draft).chmod(path.stat().st_mode & 0o777 if path.exists() else 0o644)
        Path(draft).replace(path)
    except BaseException:
        Path(draft).unlink(missing_ok=True)
        raise
