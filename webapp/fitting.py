"""Whether values fit the JSON Schema of their profile or phase, within the bounds that strangers' schemas have."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from webapp import jsontext
from webapp.capture import specs
from webapp.contracts.contract import Contract
from webapp.contracts.held import MOST, fitted
from webapp.parsing.trace import Attempt, Trace

PHASE = "phase:"
_WORSE = ("kept", "not_checked", "schema_mismatch")


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
    contracts = (
        (index, path, _held(value, path)) for path in _schemas(profile, phase) for index, value in enumerate(values)
    )
    every = (misfit for index, path, contract in contracts for misfit in _misfits(index, path.name, contract))
    return list(islice(every, MOST))


def held(trace: Trace, raw: str, phase: str | None) -> Contract | None:
    """How the values that a parser read keep the schemas of its profile and of the phase; None without either.

    A place is marked where its value stands in `raw` as JSON, without an edit.
    """
    contracts = [
        _held(value, path, raw, trace.attempts[chosen])
        for path in _schemas(trace.profile, phase)
        for value, chosen in zip(trace.values, trace.chosen, strict=True)
    ]
    worst = max(contracts, key=lambda contract: _WORSE.index(contract.state), default=None)
    mismatches = [mismatch for contract in contracts for mismatch in contract.mismatches]
    more = sum(contract.more for contract in contracts) + len(mismatches[MOST:])
    return None if worst is None else replace(worst, mismatches=tuple(mismatches[:MOST]), more=more)


def is_held(profile: str, phase: str | None = None) -> bool:
    """Whether there is a schema to hold the values against."""
    return bool(_schemas(profile, phase))


def _schemas(profile: str, phase: str | None) -> list[Path]:
    schemas = specs.schemas()
    return [schemas[name] for name in (profile, f"{PHASE}{phase}" if phase else "") if name in schemas]


def _held(value: Any, path: Path, raw: str = "", attempt: Attempt | None = None) -> Contract:
    """Against the file as it is now: what was compiled of it is kept by its text."""
    contract = Contract("kept", source="file")
    start, end = attempt.span if attempt and not attempt.edits else (0, 0)
    try:
        contract = fitted(raw[start:end] or jsontext.dumps(value), value, path.read_text("utf-8"), contract)
    except (OSError, ValueError, RecursionError) as reason:
        return replace(contract, state="not_checked", reason=str(reason))
    spans = [mismatch.span if end else None for mismatch in contract.mismatches]
    moved = [span and (span[0] + start, span[1] + start) for span in spans]
    held = [replace(one, span=span) for one, span in zip(contract.mismatches, moved, strict=True)]
    return replace(contract, mismatches=tuple(held))


def _misfits(index: int, schema: str, contract: Contract) -> Iterator[Misfit]:
    if contract.state == "not_checked":
        yield Misfit(index, "", contract.reason or "", schema)
    for mismatch in contract.mismatches:
        yield Misfit(index, mismatch.path, mismatch.message, schema)
