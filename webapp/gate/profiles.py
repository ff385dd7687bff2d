"""The profile that a gate runs: one by name, or a parser of one's own."""

from __future__ import annotations

from webapp import parsing
from webapp.capture import specs
from webapp.parsing import Profile, installing


def resolve(name: str) -> Profile:
    """The profile called `name`; `module:function` and `cmd:…` are configured for this process.

    Raises `UnknownProfile`, `BadSpec`, and `NotInstalled` where it cannot run here: a gate that does not run fails.
    """
    if specs.looks_like_one(name) and name not in specs.configured():
        name = specs.add(name)
    profile = parsing.profile(name)
    installing.refuse_absent(profile)
    return profile
