"""Processes of parsers, as they would run if somebody had configured them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from webapp.capture.command import CommandProcess
from webapp.capture.process import ParserProcess
from webapp.capture.specs import ParserSpec


def process(target: str, python: str = sys.executable, folder: Path | None = None, **more: Any) -> ParserProcess:
    return ParserProcess(_spec(target, python, folder, more))


def command_process(command: str, folder: Path, **more: Any) -> CommandProcess:
    return CommandProcess(_spec(f"cmd:{command}", sys.executable, folder, more))


def _spec(target: str, python: str, folder: Path | None, more: dict[str, Any]) -> ParserSpec:
    return ParserSpec(name="theirs", target=target, python=python, folder=folder or Path.cwd(), origin="a test", **more)
