"""What is done where the text ends before the value does: everything open is closed, and said to be cut."""

from __future__ import annotations

from webapp.parsing.machine import closers
from webapp.parsing.machine.state import Machine
from webapp.parsing.patch import NotJson


def finish(machine: Machine) -> None:
    """The region ends between two tokens."""
    if not machine.frames:
        raise NotJson(machine.at, "nothing follows")
    hanging = machine.state == "c" or (machine.state == "v" and machine.inside == "{")
    machine.truncated = machine.truncated or machine.final or hanging
    closers.close_missing(machine, 0)
    machine.state = ""
    machine.at = max(machine.end, machine.last)


def drop(machine: Machine, start: int) -> None:
    """The region ends inside something of which nothing can be kept, a key for example; it began at `start`."""
    begin = machine.comma if machine.comma >= 0 else start
    machine.unpatch(begin, begin + 1)
    machine.patch("truncation", begin, machine.end)
    machine.truncated = True
    machine.comma = -1
    machine.state = "a"
    machine.last = max(machine.last, machine.frames[-1].start + 1) if machine.frames else begin
    machine.at = machine.end
