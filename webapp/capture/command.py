"""Runs a parser in any language: a program that answers JSON lines with JSON lines, under the same limits.

Request `{"text": "…"}`; answer `{"value": …}` or `{"error": "…"}`, and where the program knows them `"calls"`, the
texts that it decoded, which are located here, or `"trace"` with attempts of its own.
"""

from __future__ import annotations

import json
import linecache
import re
import shlex
import shutil
import subprocess
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from webapp.capture import loaded_code, plain_values
from webapp.capture.process import DecoderCall, NotStarted, ParserFailure, ParserOutcome, ParserProcess, failed

_AT_POSITION = re.compile(r"at position (\d+)")
_ERROR = "Error"


@dataclass
class CommandProcess(ParserProcess):
    """As `ParserProcess`, for a command line, which is split as a shell splits it and run by none."""

    def _covered(self) -> dict[str, str]:
        """The command line, digests of the files that it names, and the size of the program that runs."""
        words = self._command()
        program = str(Path(shutil.which(words[0]) or words[0]).stat().st_size) if "/" not in words[0] else ""
        command = {"command": self.spec.command or "", "part": self.spec.value, "program": program}
        return loaded_code.named(self.spec.folder, words) | command

    def parse(self, raw: str) -> ParserOutcome:
        started = time.perf_counter_ns()
        outcome = super().parse(raw)
        elapsed = (time.perf_counter_ns() - started) // 1000
        return replace(outcome, microseconds=elapsed)

    def _command(self) -> list[str]:
        try:
            words = shlex.split(self.spec.command or "")
        except ValueError as error:
            raise NotStarted(f"{self.spec.command} is not a command line: {error}") from None
        program = words[0] if words else ""
        executable = self.spec.folder / program if "/" in program else shutil.which(program)
        if not executable or not Path(executable).is_file():
            raise NotStarted(f"{program or 'an empty command'} is not a program in {self.spec.folder} or on PATH")
        return words

    def _start(self) -> subprocess.Popen[bytes]:
        return self._opened(self._command())

    def _read(self, line: bytes, raw: str) -> ParserOutcome:
        try:
            answer = json.loads(line)
        except (ValueError, RecursionError):
            answer = None
        if not isinstance(answer, dict) or ("value" in answer) == ("error" in answer):
            self._end()
            excerpt = line[:200].decode("utf-8", "replace")
            return failed("BadAnswer", f'it answered neither {{"value": …}} nor {{"error": …}}, but {excerpt!r}')
        try:
            outcome = _outcome(answer)
            return replace(outcome, value=plain_values.part(outcome.value, self.spec.value)) if outcome.ok else outcome
        except plain_values.NoSuchPart as missing:
            return failed("NoSuchPart", str(missing))
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            return failed("BadAnswer", f"its calls or its trace cannot be read: {type(error).__name__}: {error}")


def _outcome(answer: dict[str, Any]) -> ParserOutcome:
    calls = tuple(_call(call) for call in answer.get("calls") or ())
    trace = answer.get("trace")
    attempts = None if trace is None else tuple(dict(attempt) for attempt in trace["attempts"])
    if "error" in answer:
        return ParserOutcome(False, error=_failure(answer["error"], ""), calls=calls, attempts=attempts)
    return ParserOutcome(True, answer["value"], None, calls, attempts=attempts)


def _call(call: dict[str, Any]) -> DecoderCall:
    text, ok = str(call["text"]), bool(call.get("ok"))
    error = None if ok else _failure(call.get("error") or _ERROR, text)
    return DecoderCall(str(call.get("sink") or "decode"), text, ok, call.get("value"), error, _site(call.get("site")))


def _site(site: dict[str, Any] | None) -> dict[str, Any] | None:
    """A call site, with its source line where the file is there."""
    if not site:
        return None
    file, line = str(site["file"]), int(site["line"])
    source = str(site.get("source") or linecache.getline(file, line).strip())[:200]
    return {"file": file, "line": line, "function": str(site.get("function") or ""), "source": source}


def _failure(error: Any, text: str) -> ParserFailure:
    """An error as text, or as `{"type", "message", "position"}`."""
    if not isinstance(error, dict):
        error = {"message": str(error)}
    wording = str(error.get("message") or error.get("type") or _ERROR)
    position = error.get("position")
    if position is None and (place := _AT_POSITION.search(wording)):
        position = _code_points(text, int(place[1]))
    return ParserFailure(str(error.get("type") or _ERROR), wording, wording, position if text else None)


def _code_points(text: str, units: int) -> int:
    """Code points in so many UTF-16 code units, which JavaScript counts."""
    return len(text.encode("utf-16-le", "surrogatepass")[: 2 * units].decode("utf-16-le", "replace"))
