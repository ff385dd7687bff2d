"""Options that take a profile's name, or a parser of one's own as `module:function` or `cmd:…`."""

from __future__ import annotations

from typing import Any

import click

from webapp.capture import specs
from webapp.parsing import Profile, UnknownProfile, installing, profile


class ProfileName(click.ParamType[str]):
    """A profile's name. What has the form of a parser of one's own is configured for this command, and named."""

    name = "profile"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        text = str(value)
        try:
            return specs.add(text) if specs.looks_like_one(text) and text not in specs.configured() else text
        except specs.BadSpec as bad:
            self.fail(str(bad), param, ctx)


PROFILE = ProfileName()


def runnable(name: str, or_else: str = "") -> Profile:
    """The profile of that name. Exits with 1 where it cannot run here, with 2 where none is called so, `or_else`."""
    try:
        chosen = profile(name)
        installing.refuse_absent(chosen)
        return chosen
    except installing.NotInstalled as missing:
        raise click.ClickException(str(missing)) from None
    except UnknownProfile as unknown:
        raise click.UsageError(f"{unknown}{or_else}") from None
