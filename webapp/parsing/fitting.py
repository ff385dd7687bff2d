"""Whether values fit the JSON Schema of their profile or phase: a detail of the verdict, with the path."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from webapp.capture import pyproject
from webapp.capture.pyproject import BadSpec
from webapp.visible import clipped

MOST = 20
"""misfits of a response that are told"""
_LONGEST = 300
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
    schemas = pyproject.schemas()
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
    schemas = pyproject.schemas()
    return profile in schemas or f"{PHASE}{phase}" in schemas


def _misfits(index: int, value: Any, path: Path) -> Iterator[Misfit]:
    try:
        from referencing.exceptions import Unresolvable

        validator = _validator(path, path.stat().st_mtime_ns)
    except (BadSpec, ImportError, OSError, ValueError) as reason:
        yield Misfit(index, "", str(reason), path.name)
        return
    try:
        for error in validator.iter_errors(value):
            yield Misfit(index, error.json_path, clipped(error.message, _LONGEST), path.name)
    except Unresolvable as reference:
        yield Misfit(index, "", f"it refers to {reference.ref}, which is not in it, and nothing is fetched", path.name)
    except RecursionError:
        yield Misfit(index, "", "nested too deep", path.name)


@lru_cache(maxsize=64)
def _validator(path: Path, changed: int) -> Any:
    """The validator of a schema file. Raises `BadSpec`, `ImportError`, `OSError`, `ValueError`."""
    from jsonschema import SchemaError, validators
    from referencing import Registry

    schema = json.loads(path.read_text("utf-8"))
    kind = validators.validator_for(schema, default=validators.Draft202012Validator)
    try:
        kind.check_schema(schema)
    except SchemaError as error:
        raise BadSpec(f"it is not a JSON Schema: {error.message} at {error.json_path}") from None
    return kind(schema, registry=Registry())
