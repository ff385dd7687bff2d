"""Options that take a profile's name, or a parser of one's own as `module:function` or `cmd:…`."""

from __future__ import annotations

from typing import Any

import click

from webapp.capture import specs


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
