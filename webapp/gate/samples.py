"""What a gate runs over: responses as JSON lines, and the baseline, what a profile made of each when last looked at."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from webapp import jsontext
from webapp.exports.base import SPLITS, expected_values, split_of, split_of_text
from webapp.parsing import Trace
from webapp.parsing.edit import apply
from webapp.refusals import WrongUse


class BadLines(WrongUse):
    """A line of a file cannot be used; the message names the file and the line."""


@dataclass(frozen=True, slots=True)
class Sample:
    """One response. `meant` holds the values that should come out, in order, by its final label: () where no JSON is
    meant, None where no final label says. `split` is dev or test; `place` names session and turn."""

    id: str
    text: str
    meant: tuple[Any, ...] | None
    split: str
    place: str | None = None

    @property
    def called(self) -> str:
        """What people read: where it stands if that is known, its first words, and the id that files name it by."""
        words = " ".join(self.text[:200].split())[:40]
        return f"{self.place}: {words} ({self.id})" if self.place else self.id

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.text.encode("utf-8", "surrogatepass")).hexdigest()


def read(lines: Iterable[str | bytes], name: str) -> list[Sample]:
    """The responses of a file in its order; raises `BadLines`.

    A line is a case, `{"id", "text", "expected": [values] or null}`, or one label of `fencepost label export`, of which
    the final one counts. An id that stands on two lines with a case is an error.
    """
    samples: dict[str, Sample] = {}
    lines_of: dict[str, int] = {}
    for number, row in rows(lines, name):
        at = f"{name}, line {number}"
        is_case = "text" in row
        sample = _case(row, at) if is_case else _label(row, at)
        before = samples.get(sample.id)
        if before is not None and (is_case or before.text != sample.text):
            raise BadLines(f"{at}: the id {sample.id!r} is on line {lines_of[sample.id]} already")
        if before is None or sample.meant is not None:
            samples[sample.id] = sample
        lines_of.setdefault(sample.id, number)
    return list(samples.values())


def rows(lines: Iterable[str | bytes], name: str) -> Iterable[tuple[int, dict[str, Any]]]:
    """The JSON objects of a file with their line numbers, empty lines left out; raises `BadLines`."""
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            row = jsontext.unmarked(json.loads(line))
        except (ValueError, RecursionError) as error:
            raise BadLines(f"{name}, line {number}: no JSON ({error})") from None
        if not isinstance(row, dict):
            raise BadLines(f"{name}, line {number}: a JSON object is expected, not {type(row).__name__}")
        yield number, row


def _case(row: dict[str, Any], at: str) -> Sample:
    ident, text, expected = row.get("id"), row["text"], row.get("expected")
    if not isinstance(ident, str) or not ident or not isinstance(text, str):
        raise BadLines(f'{at}: "id" and "text" must be texts, and the id not empty')
    if expected is not None and not isinstance(expected, list):
        raise BadLines(f'{at}: "expected" must be the list of values in order, [] for no JSON, null for unknown')
    split = row.get("split") or split_of_text(text)
    if split not in SPLITS:
        raise BadLines(f'{at}: "split" must be one of {", ".join(SPLITS)}, not {split!r}')
    meant = None if expected is None else tuple(expected)
    return Sample(ident, text, meant, split, _place(row))


class _Meaning(NamedTuple):
    """What an exported label says was meant."""

    expects: str | None
    expected: Any


def _label(row: dict[str, Any], at: str) -> Sample:
    key, position, raw = row.get("key"), row.get("position"), row.get("raw")
    if not isinstance(raw, str) or not isinstance(key, str) or not isinstance(position, int):
        raise BadLines(f'{at}: neither a case ("id", "text") nor a label of an export ("key", "position", "raw")')
    settled = row.get("settled")
    says = settled if isinstance(settled, dict) else row if row.get("final") else {}
    values = expected_values(_Meaning(says.get("expects"), says.get("expected")))
    try:
        split = split_of(bytes.fromhex(row["raw_sha256"]))
    except (KeyError, TypeError, ValueError):
        split = split_of_text(raw)
    meant = None if values is None else tuple(values)
    return Sample(f"{key}-{position}", raw, meant, split, _place(row))


def _place(row: dict[str, Any]) -> str | None:
    """Session and turn, which an export of labels says."""
    session, position = row.get("session"), row.get("position")
    return f"{session} turn {position}" if isinstance(session, str) and isinstance(position, int) else None


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


def read_baseline(path: Path) -> dict[str, SampleReading]:
    """The readings by id; raises `BadLines` for a line that is none, and for an id that occurs there twice."""
    readings: dict[str, SampleReading] = {}
    with path.open("rb") as file:
        for number, row in rows(file, str(path)):
            texts = [row.get(name) for name in ("id", "text", "verdict", "digest")]
            values = row.get("values")
            if not all(isinstance(text, str) and text for text in texts) or not isinstance(values, list | None):
                raise BadLines(f"{path}, line {number}: no line of a baseline")
            if texts[0] in readings:
                raise BadLines(f"{path}, line {number}: the id {texts[0]!r} occurs there twice")
            ident, text, verdict, digest = map(str, texts)
            readings[ident] = SampleReading(ident, text, verdict, digest, None if values is None else tuple(values))
    return readings


def write_baseline(path: Path, readings: Iterable[SampleReading]) -> None:
    """Write the baseline, sorted by id, in one step: whoever reads meanwhile has the old one or the new one."""
    lines = [f"{reading.line()}\n" for reading in sorted(readings, key=lambda reading: reading.id)]
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        draft.write_text("".join(lines), encoding="ascii", newline="\n")
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
