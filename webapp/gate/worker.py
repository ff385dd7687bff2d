"""A process of its own that judges cases for the pytest plugin: JSON lines in, JSON lines out.

The plugin lives in other people's environments, where a package `webapp` may be their own program: it never imports
this one, and starts this module isolated from the folder that it runs in (`python -I -m webapp.gate.worker`).

    {"profile": P, "file": F}  → {"profile", "version", "cases": [{"id", "called", "split", "known"}]} or {"error"}
    {"id": I}                  → {"outcome", "text"}: text is empty where it passed
"""

from __future__ import annotations

import json
import sys
from functools import partial
from pathlib import Path
from typing import Any, TextIO

from webapp import parsing
from webapp.capture import specs
from webapp.gate import reports
from webapp.gate.judging import judge, roots_of
from webapp.gate.samples import BadLines, Sample, read
from webapp.parsing import Profile, refuse_absent

GOOD = ("right", "nothing")


def begin(request: dict[str, Any]) -> tuple[Profile, dict[str, Sample]]:
    """The profile and the cases that are asked for; raises `BadLines`, `OSError`, `LookupError`, `ValueError`."""
    name = request["profile"]
    if specs.looks_like_one(name) and name not in specs.configured():
        name = specs.add(name)
    profile = parsing.profile(name)
    refuse_absent(profile)  # a gate that does not run fails
    with Path(request["file"]).open("rb") as file:
        samples = read(file, request["file"])
    if not samples:
        raise BadLines(f"{request['file']}: there is no case in it")
    return profile, {sample.id: sample for sample in samples}


def answer(profile: Profile, sample: Sample) -> dict[str, str]:
    """The outcome of one case, and what is to be shown of it where it is not right."""
    trace = parsing.parse(sample.text, profile)
    if sample.meant is None:
        return {"outcome": "unknown", "text": "no final label says what was meant"}
    judged = judge(trace.values, sample.meant, roots_of(profile))
    text = "" if judged.outcome in GOOD else reports.drawn(sample.text, trace, sample.meant, judged)
    return {"outcome": judged.outcome, "text": text}


def main(lines: TextIO, answers: TextIO | None) -> None:
    """Answer until the input ends."""
    out = partial(print, file=answers, flush=True)
    try:
        profile, samples = begin(json.loads(next(iter(lines))))
    except (OSError, LookupError, ValueError, RuntimeError) as error:
        out(json.dumps({"error": str(error.args[0] if error.args else error)}))
        return
    names = ("id", "called", "split")
    cases = [
        {name: getattr(sample, name) for name in names} | {"known": sample.meant is not None}
        for sample in samples.values()
    ]
    out(json.dumps({"profile": profile.name, "version": profile.version, "cases": cases}))
    for line in lines:
        out(json.dumps(answer(profile, samples[json.loads(line)["id"]])))


if __name__ == "__main__":
    main(sys.stdin, sys.__stdout__)
