"""Runs a parser in a child process with limits of time and memory: its death is an outcome, not an outage."""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from webapp.capture import loaded_code
from webapp.capture.specs import ParserSpec

CHILD = Path(__file__).with_name("child.py")
STARTING = 60.0  # that importing its libraries may take
ENDING = 5.0  # that a process may take to end once it has closed its output: the system may write a core file first
MOST_ANSWER = 64 << 20  # bytes of one answer line


@dataclass(slots=True)
class ParserFailure:
    """Why a parser gave no value: the exception that it raised, or what became of its process."""

    type: str
    message: str
    said: str
    position: int | None = None


@dataclass(slots=True)
class DecoderCall:
    """One text that was handed to a decoder; `count` is over 1 where a run of like failures is one entry."""

    sink: str
    text: str
    ok: bool
    value: Any = None
    error: ParserFailure | None = None
    site: dict[str, Any] | None = None
    inside: str | None = None
    count: int = 1

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> DecoderCall:
        return cls(**data | {"error": ParserFailure(**data["error"]) if data["error"] else None})


Ended = Literal["stopped", "died"]


@dataclass(frozen=True)
class ParserOutcome:
    """What one response came to: `value` where `ok`, else `error`; `calls` in the order in which they ended."""

    ok: bool
    value: Any = None
    error: ParserFailure | None = None
    calls: tuple[DecoderCall, ...] = ()
    dropped: int = 0
    microseconds: int = 0
    attempts: tuple[dict[str, Any], ...] | None = None
    """what a program in another language says that it tried, in the shape of a trace's attempts"""
    no_json: str | None = None
    """in words that what was returned is no JSON value"""
    ended: Ended | None = None
    """that the process gave no answer: it was stopped, since it took too long, or it died"""


class NotStarted(RuntimeError):
    """The parser could not be imported or its interpreter not started; the message says what was tried."""


@dataclass
class ParserProcess:
    """A child that parses one response after the other; it is started at the first and replaced when it ends.

    One response at a time: callers from several threads wait for each other.
    """

    spec: ParserSpec
    _process: subprocess.Popen[bytes] | None = field(default=None, repr=False)
    _buffer: bytes = field(default=b"", repr=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)
    _version: str = field(default="", repr=False)
    _code: dict[str, str] = field(default_factory=dict, repr=False)

    def version(self) -> str:
        """A digest of all that decides the value, as `_covered` has it. Raises `NotStarted`."""
        with self._lock:
            try:
                self._version = self._version or loaded_code.digest(
                    self._covered() | loaded_code.depends(self.spec.folder, self.spec.depends)
                )
            except FileNotFoundError as missing:
                raise NotStarted(str(missing)) from None
        return self._version

    def _covered(self) -> dict[str, str]:
        """Digests of the modules, and releases of the libraries, that are loaded once it has read a sample of texts."""
        for text in loaded_code.SAMPLE:
            process = self._running()
            try:
                _write(process, json.dumps({"text": text, "code": True}).encode("ascii") + b"\n", self.spec.seconds)
                line = self._line(process, min(self.spec.seconds, loaded_code.SAMPLE_SECONDS))
                self._code.update(json.loads(line)["code"])
            except (EOFError, OSError, ValueError, RecursionError):
                self._end()
        return self._code | {"function": self.spec.target.rpartition(":")[2], "part": self.spec.value}

    def parse(self, raw: str) -> ParserOutcome:
        """Hand `raw` to the parser. Raises `NotStarted`; whatever else goes wrong is an outcome."""
        with self._lock:
            process = self._running()
            try:
                _write(process, json.dumps({"text": raw}).encode("ascii") + b"\n", self.spec.seconds)
                line = self._line(process, self.spec.seconds)
            except TimeoutError:
                self._end()
                took = f"took longer than {self.spec.seconds:g} s; the parser was stopped"
                return failed("TimeoutError", took, "stopped")
            except (EOFError, OSError):
                return failed("ProcessDied", _how_it_ended(self._end(ENDING)), "died")
            except ValueError as error:
                self._end()
                return failed("AnswerTooLarge", str(error))
            return self._read(line, raw)

    def _read(self, line: bytes, raw: str) -> ParserOutcome:
        try:
            return _outcome(json.loads(line))
        except RecursionError:
            return failed("RecursionError", "what it gave is nested too deep to be shown")

    def close(self) -> None:
        with self._lock:
            self._end()

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is None or self._process.poll() is not None:
            self._end()
            self._process = self._start()
        return self._process

    def _start(self) -> subprocess.Popen[bytes]:
        spec = self.spec
        command = [spec.python, str(CHILD), spec.target, "--path", str(spec.folder), "--value", spec.value]
        process = self._opened(command)
        try:
            ready = json.loads(self._line(process, STARTING))
        except (EOFError, TimeoutError, ValueError) as error:
            ended = _how_it_ended(self._end(ENDING if isinstance(error, EOFError) else 0.0))
            raise NotStarted(f"{spec.target} could not be imported: {ended}") from error
        if not ready["ready"]:
            self._end()
            raise NotStarted(f"{spec.target} could not be imported: {ready['error']['type']}: {ready['error']['said']}")
        self._code.update(ready["code"])
        return process

    def _opened(self, command: list[str]) -> subprocess.Popen[bytes]:
        """The process that a command starts. Raises `NotStarted`."""
        try:
            process = subprocess.Popen(  # noqa: S603 — the operator named the interpreter and the parser
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                cwd=self.spec.folder,
                start_new_session=True,
            )
        except OSError as error:
            raise NotStarted(f"{command[0]} could not be started: {error}") from error
        if sys.platform == "linux":
            import resource

            # Of the data alone: libraries and runtimes like Node's and Go's reserve far more addresses than they use.
            with contextlib.suppress(ProcessLookupError, PermissionError):
                resource.prlimit(process.pid, resource.RLIMIT_DATA, (self.spec.memory, self.spec.memory))
        self._process = process
        return process

    def _line(self, process: subprocess.Popen[bytes], seconds: float) -> bytes:
        """The child's next line; TimeoutError, EOFError where it ended, ValueError where the line is too long."""
        assert process.stdout is not None
        parts, size, deadline = [self._buffer], len(self._buffer), time.monotonic() + seconds
        with selectors.DefaultSelector() as selector:
            selector.register(process.stdout, selectors.EVENT_READ)
            while b"\n" not in parts[-1]:
                if not selector.select(max(0.0, deadline - time.monotonic())):
                    raise TimeoutError
                part = os.read(process.stdout.fileno(), 1 << 20)
                if not part:
                    raise EOFError
                parts.append(part)
                size += len(part)
                if size > MOST_ANSWER:
                    raise ValueError(f"the answer is longer than {MOST_ANSWER >> 20} MB; the parser was stopped")
        line, _, self._buffer = b"".join(parts).partition(b"\n")
        return line

    def _end(self, seconds: float = 0.0) -> int | None:
        """Stop the child and all that it started; its exit code, negative for a signal, where it ended in time."""
        process, self._process, self._buffer = self._process, None, b""
        if process is None:
            return None
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(seconds)
        code = process.poll()
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()
        return code


def _write(process: subprocess.Popen[bytes], data: bytes, seconds: float) -> None:
    """Send `data`; a child that does not read raises TimeoutError."""
    assert process.stdin is not None
    pipe, deadline = process.stdin.fileno(), time.monotonic() + seconds
    os.set_blocking(pipe, False)
    view = memoryview(data)
    with selectors.DefaultSelector() as selector:
        selector.register(pipe, selectors.EVENT_WRITE)
        while view:
            if not selector.select(max(0.0, deadline - time.monotonic())):
                raise TimeoutError
            view = view[os.write(pipe, view[: 1 << 20]) :]


def _outcome(answer: dict[str, Any]) -> ParserOutcome:
    error = None if answer["ok"] else ParserFailure(**answer["error"])
    calls = tuple(DecoderCall.from_dict(call) for call in answer["calls"])
    counts = answer["dropped"], answer["microseconds"]
    return ParserOutcome(answer["ok"], answer.get("value"), error, calls, *counts, no_json=answer.get("no_json"))


def failed(kind: str, message: str, ended: Ended | None = None) -> ParserOutcome:
    return ParserOutcome(False, error=ParserFailure(kind, message, message), ended=ended)


def _how_it_ended(code: int | None) -> str:
    if code is None:
        return "its process gave no answer"
    if code < 0:
        return f"its process was ended by {signal.Signals(-code).name}"
    return f"its process ended by itself with exit code {code}"
