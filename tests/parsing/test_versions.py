"""A version covers what decides the value: where traces of the cases change, the profile's version must change too.

`python -m tests.parsing.test_versions` writes the digests anew.
"""

from __future__ import annotations

import hashlib
import json
import re
from itertools import groupby
from pathlib import Path

from tests.parsing._cases import every
from webapp.parsing import parse, profiles
from webapp.parsing.profiles.fencepost import plugin

DIGESTS = Path(__file__).with_name("trace_digests.txt")
MOMENT = ("microseconds", "version")
IN_WORDS_OF_PYTHON = ("error", "reason", "note")
"""of an attempt, which differ between versions of Python and decide no value"""


def _digest(parts: list[str]) -> str:
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _trace(raw: str) -> str:
    return json.dumps({**parse(raw).as_dict(), "microseconds": 0, "version": ""}, sort_keys=True)


def digests() -> dict[str, str]:
    """Of each case file, a digest of its raw texts and one of their traces."""
    files = groupby(every(), key=lambda case: case.name.rpartition("-")[0])
    raws = {name: [case.raw for case in cases] for name, cases in files}
    return {name: f"{_digest(texts)} {_digest([_trace(raw) for raw in texts])}" for name, texts in raws.items()}


def _decided(raw: str, profile: str) -> str:
    """What a profile makes of a text, less what only words it."""
    trace = {name: value for name, value in parse(raw, profile).as_dict().items() if name not in MOMENT}
    for attempt in trace["attempts"]:
        attempt |= dict.fromkeys(IN_WORDS_OF_PYTHON)
    return json.dumps(trace, sort_keys=True)


def profile_digests() -> dict[str, str]:
    """Of each profile but fencepost: its version, a digest of the raw texts of all cases and one of their traces."""
    raws = [case.raw for case in every()]
    found = {name: profile for name, profile in profiles().items() if name != plugin.name}
    return {
        f"profile {name}": f"{profile.version} {_digest(raws)} {_digest([_decided(raw, name) for raw in raws])}"
        for name, profile in found.items()
    }


def next_version(version: str) -> str:
    """`3` after `2`; `restated-1.2-2` after `restated-1.2`, whose release stays."""
    own, plus, calls = version.partition("+")
    if own.isdigit():
        return str(int(own) + 1)
    again = re.fullmatch(r"(restated-.+?)(?:-(\d+))?", own)
    return f"{again[1]}-{int(again[2] or 1) + 1}{plus}{calls}" if again else f"{own}-2{plus}{calls}"


def kept() -> dict[str, str]:
    return dict(re.match(r"(profile \S+|\S+) (.+)", line).groups() for line in DIGESTS.read_text("utf-8").splitlines())  # type: ignore[union-attr]


def write() -> None:
    lines = [f"{name} {digest}\n" for name, digest in (digests() | profile_digests()).items()]
    DIGESTS.write_text(f"version {plugin.version}\n{''.join(lines)}", "utf-8")


def test_traces_change_only_with_the_version_of_the_profile() -> None:
    before = {name: digest for name, digest in kept().items() if not name.startswith("profile ")}
    version, now = before.pop("version"), digests()
    same_texts = [name for name, digest in before.items() if name in now and now[name][:16] == digest[:16]]
    changed = [name for name in same_texts if now[name] != before[name]]
    bump = (
        f"bump fencepost to {int(version) + 1}" if plugin.version == version else "run this module to write them anew"
    )
    assert not changed, f"traces of {', '.join(changed)} changed: {bump}"
    assert (plugin.version, set(now)) == (version, set(same_texts)), "cases or version changed: run this module"


def test_traces_of_each_other_profile_too() -> None:
    before, now = kept(), profile_digests()
    told = {name: digest.split() for name, digest in before.items() if name.startswith("profile ")}
    stale = []
    for name, digest in now.items():
        version, texts, traces = digest.split()
        old_version, old_texts, old_traces = told.pop(name, ["", "", ""])
        if (version, texts) != (old_version, old_texts):
            stale.append(name)
        else:
            assert traces == old_traces, f"traces of {name} changed: bump it to {next_version(version)}"
    assert not [*stale, *told], "cases, versions or profiles changed: run this module to write the digests anew"


if __name__ == "__main__":
    write()
