"""Whether values fit the JSON Schema of their profile or phase, within the bounds that strangers' schemas have."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from webapp import jsontext
from webapp.capture import specs
from webapp.contracts import Contract
from webapp.contracts.held import MOST, fitted

PHASE = "phase:"


class Misfit(NamedTuple):
    """Where a value does not fit: its index among the values, the path in it as `$.steps[0]`, and the schema's name.

    Without a path it was not held against the schema, and `message` says why.
    """

    value: int
    path: str
    message: str
    schema: str

    @property
    def sentence(self) -> str:
        if not self.path:
            return f"was not held against {self.schema}: {self.message}"
        return f"does not fit {self.schema} at {self.path}: {self.message}"


def misfits(values: Sequence[Any], profile: str, phase: str | None = None) -> list[Misfit]:
    """What of the values does not fit the schemas of the profile and of the phase; empty too where there are none."""
    schemas = specs.schemas()
    names = [name for name in (profile, f"{PHASE}{phase}" if phase else "") if name in schemas]
    every = (
        misfit
        for name in names
        for index, value in enumerate(values)
        for misfit in _misfits(index, value, schemas[name])
    )
    return list(islice(every, MOST))


def is_held(profile: str, phase: str | None = None) -> bool:
    """Whether there is a schema to hold the values against."""
    schemas = specs.schemas()
    return profile in schemas or f"{PHASE}{phase}" in schemas


def _misfits(index: int, value: Any, path: Path) -> Iterator[Misfit]:
    """Against the file as it is now: what was compiled of it is kept by its text."""
    try:
        schema, raw = path.read_text("utf-8"), jsontext.dumps(value)
    except (OSError, ValueError, RecursionError) as reason:
        yield Misfit(index, "", str(reason), path.name)
        return
    contract = fitted(raw, value, schema, Contract("kept"))
    if contract.state == "not_checked":
        yield Misfit(index, "", contract.reason or "", path.name)
    for mismatch in contract.mismatches:
        yield Misfit(index, mismatch.path, mismatch.message, path.name)
