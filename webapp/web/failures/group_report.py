"""A failure group in words: as Markdown for an issue."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from webapp.markdown import block, code, escaped
from webapp.parsing.words import counted
from webapp.store.failures.group_detail import GroupDetail
from webapp.store.failures.group_line import GroupLine, Rate


def markdown(detail: GroupDetail, url: str, reproduction: dict[str, Any]) -> str:
    """The report; `reproduction` as `failure_pages.reduced` gives it."""
    return "\n".join(_lines(detail, url, reproduction)) + "\n"


def _lines(detail: GroupDetail, url: str, reproduction: dict[str, Any]) -> Iterator[str]:
    yield f"# {escaped(detail.title)}\n"
    yield f"- page: {url}"
    yield f"- group: {code(detail.key)}"
    if detail.line is None:
        yield "- none of it is in view under these filters"
        return
    yield from _facts(detail.line)
    for title, rates in (("Rate by model", detail.models), ("Rate by version", detail.versions)):
        if rates:
            yield f"\n## {title}\n"
            yield from (f"- {escaped(rate.name or 'no model named')}: {rate_words(rate)}" for rate in rates)
    if detail.before and detail.after:
        yield "\n## Before and after\n"
        yield from (f"- {escaped(rate.name)}: {rate_words(rate)}" for rate in (detail.before, detail.after))
    yield "\n## Smallest reproduction\n"
    if reproduction["reproduction"] is None:
        yield f"{escaped(reproduction['why'])}."
    else:
        yield f"Fails under {code(reproduction['parser'])}; {escaped(reproduction['why'])}:\n"
        yield block(reproduction["reproduction"], "text").rstrip()
    yield "\n## Profiles that would have read it\n"
    for reader in detail.readers:
        if reader.read:
            yield f"- {code(reader.profile)}: {reader.read:,} of {reader.run:,}"
    if reads_none := [reader.profile for reader in detail.readers if reader.run and not reader.read]:
        yield f"- read none of them: {', '.join(code(name) for name in reads_none)}"
    if missing := [reader.profile for reader in detail.readers if not reader.run]:
        yield f"- not run: {', '.join(code(name) for name in missing)}"


def _facts(line: GroupLine) -> Iterator[str]:
    share = "" if line.share is None else f", {percent(line.share)} of all responses"
    yield f"- {counted(line.count, 'response')} in {counted(line.sessions, 'session')}{share}"
    yield f"- first seen {line.first_seen:%Y-%m-%d %H:%M} UTC, last seen {line.last_seen:%Y-%m-%d %H:%M} UTC"
    yield f"- state: {line.state}{', ' + escaped(line.why) if line.why else ''}"
    if line.paths:
        yield f"- JSON paths: {', '.join(f'{code(path)} {count:,}' for path, count in line.paths)}"


def rate_words(rate: Rate) -> str:
    """`2.7 % of 50,000 (1,352; 95 %: 2.6 to 2.9 %)`; a count alone says that the number of all is not known."""
    if rate.share is None or rate.low is None or rate.high is None:
        return f"{rate.count:,} of an unknown number"
    return f"{percent(rate.share)} of {rate.of:,} ({rate.count:,}; 95 %: {percent(rate.low)} to {percent(rate.high)})"


def percent(share: float) -> str:
    """`2.7 %`, `0.004 %`; two digits that say something."""
    number = 100 * share
    return f"{number:.3g} %" if number >= 10 else f"{number:.2g} %"
