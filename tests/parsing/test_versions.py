"""A version covers what decides the value: where traces of the cases change, the profile's version must change too.

`python -m tests.parsing.test_versions` writes the digests anew.
"""

from __future__ import annotations

import hashlib
import json
from itertools import groupby
from pathlib import Path

from tests.parsing._cases import every
from webapp.parsing import parse
from webapp.parsing.profiles.fencepost import plugin

DIGESTS = Path(__file__).with_name("trace_digests.txt")


def _digest(parts: list[str]) -> str:
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _trace(raw: str) -> str:
    return json.dumps({**parse(raw).as_dict(), "microseconds": 0, "version": ""}, sort_keys=True)


def digests() -> dict[str, str]:
    """Of each case file, a digest of its raw texts and one of their traces."""
    files = groupby(every(), key=lambda case: case.name.rpartition("-")[0])
    raws = {name: [case.raw for case in cases] for name, cases in files}
    return {name: f"{_digest(texts)} {_digest([_trace(raw) for raw in texts])}" for name, texts in raws.items()}


def write() -> None:
    lines = [f"{name} {digest}\n" for name, digest in digests().items()]
    DIGESTS.write_text(f"version {plugin.version}\n{''.join(lines)}", "utf-8")


def test_traces_change_only_with_the_version_of_the_profile() -> None:
    kept = dict(line.split(" ", 1) for line in DIGESTS.read_text("utf-8").splitlines())
    version, now = kept.pop("version"), digests()
    same_texts = [name for name, digest in kept.items() if name in now and now[name][:16] == digest[:16]]
    changed = [name for name in same_texts if now[name] != kept[name]]
    bump = (
        f"bump fencepost to {int(version) + 1}" if plugin.version == version else "run this module to write them anew"
    )
    assert not changed, f"traces of {', '.join(changed)} changed: {bump}"
    assert (plugin.version, set(now)) == (version, set(same_texts)), "cases or version changed: run this module"


if __name__ == "__main__":
    write()
