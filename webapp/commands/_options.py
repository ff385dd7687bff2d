"""Options that several commands take: a profile's name or a parser of one's own, and what an export is to hide."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import click

from webapp.capture import specs
from webapp.capture.specs import BadSpec
from webapp.exports.redaction import Redactor, redactor
from webapp.parsing import Profile, UnknownProfile, profile, refuse_absent


class ProfileName(click.ParamType[str]):
    """A profile's name. What has the form of a parser of one's own is configured for this command, and named."""

    name = "profile"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        text = str(value)
        options = ctx.meta.get(_OPTIONS, "") if ctx else ""
        try:
            if specs.looks_like_one(text) and (options or text not in specs.configured()):
                return specs.add(text + options)
        except BadSpec as bad:
            self.fail(str(bad), param, ctx)
        if options:
            self.fail(
                f"{text!r} is no parser named here as module:function or cmd:…, which{options} is for", param, ctx
            )
        return text


PROFILE = ProfileName()
_OPTIONS = f"{__name__}.options"
_Command = TypeVar("_Command", bound=Callable[..., Any])


def own_options(command: _Command) -> _Command:
    """Add `--value` and `--depends`, which are about the parser of one's own that the command names."""
    options: dict[str, Any] = {"is_eager": True, "expose_value": False, "callback": _keep}
    part = "Of your own parser: the part of what it returns that is the value, as a dotted path."
    path = "Of your own parser: a file or folder that decides its value too, so that its version covers it."
    command = click.option("--depends", help=path, metavar="PATH", multiple=True, **options)(command)
    return click.option("--value", help=part, metavar="PART", **options)(command)


def _keep(ctx: click.Context, param: click.Parameter, value: str | Sequence[str] | None) -> None:
    values = [value] if isinstance(value, str) else value or ()
    options = "".join(f" {param.opts[0]} {shlex.quote(word)}" for word in values)
    ctx.meta[_OPTIONS] = ctx.meta.get(_OPTIONS, "") + options


def runnable(name: str, or_else: str = "") -> Profile:
    """The profile of that name. Raises `NotInstalled` where it cannot run here, and a usage error with `or_else`."""
    try:
        chosen = profile(name)
    except UnknownProfile as unknown:
        raise click.UsageError(f"{unknown}{or_else}") from None
    refuse_absent(chosen)
    return chosen


def redaction_options(command: _Command) -> _Command:
    """Adds --redact-key, --redact (both can be given several times) and --redact-secrets to a command."""
    options = (
        click.option("--redact-key", "keys", multiple=True, metavar="KEY", help="Mask values under this key."),
        click.option("--redact", "patterns", multiple=True, metavar="REGEX", help="Mask text that matches this."),
        click.option("--redact-secrets", "secrets", is_flag=True, help="Mask secrets that detect-secrets finds."),
    )
    for option in reversed(options):
        command = option(command)
    return command


def asked(keys: tuple[str, ...], patterns: tuple[str, ...], secrets: bool) -> Redactor | None:
    """The redactor that the options ask for. Raises `BadPattern` and `MissingLibrary`."""
    return redactor(keys, patterns, secrets=secrets)
