"""`fencepost contract`: the calls and answers of a log against what their requests declare, without a database."""

from __future__ import annotations

import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import click

from webapp import fitting
from webapp.commands import _terminal
from webapp.commands._arguments import open_log
from webapp.contracts.contract import BROKEN, STATES, Contract
from webapp.contracts.held import Holder
from webapp.dumps.messages.declarations import of_service, read_tools
from webapp.dumps.reading import read
from webapp.dumps.records import Problem, SessionStart, Turn
from webapp.dumps.spool import spool
from webapp.parsing import parse
from webapp.visible import visible

_MOST_BYTES = 4 * 1024**3
_AROUND = 40
"""characters of the text that are shown on either side of a place"""


class HeldResponse(NamedTuple):
    """A turn with its contract; `position` counts the session's turns from 0, those that repeat another left out."""

    session: str
    position: int
    turn: Turn
    contract: Contract


@click.command("contract")
@click.option("--tools", type=click.Path(exists=True, path_type=Path), metavar="F", help="Tools, if the log has none.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@click.argument("file", metavar="FILE")
def command(tools: Path | None, as_json: bool, file: str) -> None:
    """Hold each call and each answer in the log FILE (- for standard input) against its own request.

    Tools, tool_choice and response_format are read from the request of each response. For requests without tools,
    --tools takes OpenAI's list of tools, the result of an MCP server's tools/list, or a folder of such files; without
    it, [tool.fencepost.tools] of pyproject.toml may name one for the log's service.

    Exits with 0 when nothing is broken, with 1 when something is, with 2 when used wrongly.
    """
    problems: list[Problem] = []
    states: Counter[str] = Counter()
    responses: list[dict[str, Any]] = []
    declared = None if tools is None else read_tools(tools)
    with tempfile.TemporaryDirectory(prefix="fencepost-") as folder, open_log(file) as stream:
        spooled = spool(stream, Path(folder), max_bytes=_MOST_BYTES)
        problems += [spooled.problem] if spooled.problem else []
        for response in _held(spooled.path, click.format_filename(file), declared, problems):
            states[response.contract.state] += 1
            if as_json:
                responses.append(_as_dict(response))
            elif response.contract.is_broken or response.contract.state == "not_checked":
                _terminal.put(*_lines(response))
    counts = {state: states[state] for state in STATES}
    lines = [{"at": problem.at, "reason": problem.reason} for problem in problems]
    _terminal.say(
        as_json,
        {"states": counts, "responses": responses, "problems": lines},
        ", ".join(f"{count:,} {state}" for state, count in counts.items()),
        errors=[f"{problem.at}: {problem.reason}" for problem in problems],
    )
    sys.exit(1 if any(states[state] for state in BROKEN) else 0)


def _held(path: Path, name: str, declared: dict[str, Any] | None, problems: list[Problem]) -> Iterator[HeldResponse]:
    """The responses of a dump in order; what of it could not be read is added to `problems`."""
    for session, of_session in groupby(_placed(path, name, problems), key=lambda one: one[0]):
        holder = Holder(declared or of_service(session.service))
        for _, answer in groupby(of_session, key=lambda one: one[2].entry):
            placed = list(answer)
            contracts = holder.answer([turn for _, _, turn in placed])
            for (_, position, turn), contract in zip(placed, contracts, strict=True):
                if contract is not None:
                    yield HeldResponse(session.external_id, position, turn, _or_given(turn, contract))


def _or_given(turn: Turn, contract: Contract) -> Contract:
    """Where the request asks for no form, a schema that was given for the turn's phase; of a text that is JSON."""
    if contract.state != "not_declared" or turn.kind != "response" or not fitting.is_held("fencepost", turn.phase):
        return contract
    trace = parse(turn.raw or "")
    return (fitting.held(trace, turn.raw or "", turn.phase) if trace.verdict == "clean" else None) or contract


def _placed(path: Path, name: str, problems: list[Problem]) -> Iterator[tuple[SessionStart, int, Turn]]:
    session, position = SessionStart("", ""), 0
    for record in read(path, name):
        if isinstance(record, Problem):
            problems.append(record)
        elif isinstance(record, SessionStart):
            session, position = record, 0
        elif record.duplicate_of is None:
            yield session, position, record
            position += 1


def _as_dict(response: HeldResponse) -> dict[str, Any]:
    turn = response.turn
    return {
        "session": response.session,
        "position": response.position,
        "model": turn.model,
        "host": turn.host,
        "stop": turn.stop and turn.stop._asdict(),
        "arguments": turn.arguments,
        "contract": response.contract.as_dict(),
    }


def _lines(response: HeldResponse) -> Iterator[str]:
    contract = response.contract
    mark, tool = "✕" if contract.is_broken else "?", f" {contract.tool}" if contract.tool else ""
    yield f"{mark} {response.session} turn {response.position}{tool}: {contract.state}"
    if contract.reason:
        yield f"    {contract.reason}"
    for mismatch in contract.mismatches:
        yield f"    {mismatch.message}"
        if mismatch.span is not None:
            yield from _drawn(response.turn.raw or "", mismatch.span)


def _drawn(raw: str, span: tuple[int, int]) -> Iterator[str]:
    """The text around a place on one line, and carets under the place."""
    start, end = span[0], min(span[1], span[0] + _AROUND)
    before, marked = visible(raw[max(0, start - _AROUND) : start]), visible(raw[start:end])
    yield f"    {before}{marked}{visible(raw[end : end + _AROUND])}"
    yield f"    {' ' * len(before)}{'^' * max(1, len(marked))}"
