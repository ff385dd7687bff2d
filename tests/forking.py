"""Processes of single tests, forked off one process that has imported the whole program: a fraction of a start.

Run as a module it is that process: it is told over a socket what to start, and gives the number of each child.
What a start itself does is tested with real ones, in `tests/commands` and elsewhere.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import gc
import importlib
import json
import os
import pty
import signal
import socket
import struct
import subprocess
import sys
import time
from pathlib import Path
from types import TracebackType
from typing import IO, Any

ROOT = Path(__file__).resolve().parents[1]
IMPORTED = ("webapp.cli", "webapp.app", "webapp.commands.serve", "webapp.commands.work", "waitress")
IMPORTED_IF_THERE = ("psycopg",)
LENGTH = struct.Struct("!I")


class ForkedProcess:
    """As much of `subprocess.Popen` as tests ask of a process: its standard output is a pipe, a script's input too."""

    def __init__(self, request: dict[str, Any], environ: dict[str, str] | None, *, text: bool) -> None:
        (from_stdin, to_stdin), (from_stdout, to_stdout) = os.pipe(), os.pipe()
        request["environ"] = dict(os.environ) if environ is None else environ
        self.pid: int = ask(request, from_stdin, to_stdout)
        os.close(from_stdin)
        os.close(to_stdout)
        self.stdin: IO[Any] = os.fdopen(to_stdin, "w" if text else "wb")
        self.stdout: IO[Any] = os.fdopen(from_stdout, "r" if text else "rb")
        self.returncode: int | None = None
        if "code" not in request:
            self.stdin.close()

    def poll(self) -> int | None:
        if self.returncode is None:
            self.returncode = ask({"poll": self.pid})
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        end = None if timeout is None else time.monotonic() + timeout
        while (code := self.poll()) is None:
            if end is not None and time.monotonic() > end:
                raise subprocess.TimeoutExpired("fencepost", timeout or 0)
            time.sleep(0.005)
        return code

    def communicate(self) -> tuple[Any, None]:
        """What is left of the standard output, once the process has ended."""
        self._close_stdin()
        with self.stdout:
            rest = self.stdout.read()
        self.wait()
        return rest, None

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def __enter__(self) -> ForkedProcess:
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self._close_stdin()
        self.stdout.close()
        self.wait()

    def _close_stdin(self) -> None:
        with contextlib.suppress(BrokenPipeError):
            self.stdin.close()


def command(*arguments: str, environ: dict[str, str] | None = None) -> ForkedProcess:
    """`fencepost …`, whose pipes are of text; what it writes to standard error comes with its output."""
    return ForkedProcess({"arguments": ["fencepost", *arguments]}, environ, text=True)


def script(
    code: str,
    *arguments: str,
    environ: dict[str, str] | None = None,
    imports: tuple[str, ...] = (),
    text: bool = False,
    leads: bool = False,
) -> ForkedProcess:
    """`python -c code …`, whose standard error is this process's; `leads` makes it a process group of its own.

    `imports` are imported once for all such scripts.
    """
    request = {"code": code, "arguments": ["-c", *arguments], "imports": imports, "leads": leads}
    return ForkedProcess(request, environ, text=text)


ON_TERMINAL = """
import os, sys
from webapp.cli import main

terminal = os.open(sys.argv.pop(1), os.O_RDWR | os.O_NOCTTY)
os.write(terminal, b".")
for handle in sys.argv.pop(1):
    os.dup2(terminal, int(handle))
sys.stdin, sys.stdout = open(0), open(1, "w")
main(prog_name="fencepost")
"""


class Terminal:
    """`fencepost …` with a terminal for some of its files: the digits of `handles` are their numbers."""

    def __init__(self, *arguments: str, handles: str, **environ: str) -> None:
        self.ours, theirs = pty.openpty()
        words = (os.ttyname(theirs), handles, *arguments)
        self.process = script(ON_TERMINAL, *words, environ={**os.environ, "TERM": "xterm", **environ}, text=True)
        os.read(self.ours, 1)  # it has the terminal open now
        os.close(theirs)

    def read(self, until: str | None = None) -> str:
        """What it writes to the terminal until these words stand there, or until it ends."""
        shown = b""
        with contextlib.suppress(OSError):  # Linux answers EIO once nobody has the other end open
            while until is None or until.encode() not in shown:
                shown += os.read(self.ours, 65_536)
        return shown.decode(errors="replace").replace("\r\n", "\n")

    def type(self, text: str) -> None:
        os.write(self.ours, text.encode())

    def __enter__(self) -> Terminal:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self.ours)
        self.process.__exit__()


def ask(request: dict[str, Any], *handles: int) -> Any:
    """What the process with the modules answers; it takes these handles of files over."""
    channel, body = _channel(), json.dumps(request).encode()
    socket.send_fds(channel, [LENGTH.pack(len(body))], handles)
    channel.sendall(body)
    return json.loads(_read(channel, LENGTH.unpack(_read(channel, LENGTH.size))[0]))


@functools.cache
def _channel() -> socket.socket:
    """To the process with the modules, which is started with the first child and ends with this one."""
    ours, theirs = socket.socketpair()
    program = [sys.executable, "-m", "tests.forking", str(theirs.fileno())]
    environ = {**os.environ, "PYTHONPATH": str(ROOT)}
    process = subprocess.Popen(program, cwd=ROOT, env=environ, stdout=subprocess.DEVNULL, pass_fds=[theirs.fileno()])
    theirs.close()

    @atexit.register
    def end() -> None:
        ours.close()
        process.wait(60)

    return ours


def _read(channel: socket.socket, size: int) -> bytes:
    content = b""
    while len(content) < size:
        piece = channel.recv(size - len(content))
        if not piece:
            raise EOFError
        content += piece
    return content


def _served(channel: socket.socket, children: set[int]) -> dict[str, Any] | None:
    """Do what is asked; in a child the request that it is to fulfil."""
    head, handles, _, _ = socket.recv_fds(channel, LENGTH.size, 2)
    if not head:
        raise EOFError
    request: dict[str, Any] = json.loads(
        _read(channel, LENGTH.unpack(head + _read(channel, LENGTH.size - len(head)))[0])
    )
    for name in request.get("imports", ()):
        importlib.import_module(name)
    if "poll" in request:
        number, status = os.waitpid(request["poll"], os.WNOHANG)
        answer = os.waitstatus_to_exitcode(status) if number else None
    elif answer := os.fork():
        children.add(answer)
        for handle in handles:
            os.close(handle)
        if request.get("leads"):
            os.setpgid(answer, answer)
    else:
        channel.close()
        _become(request, *handles)
        return request
    body = json.dumps(answer).encode()
    channel.sendall(LENGTH.pack(len(body)) + body)
    return None


def _become(request: dict[str, Any], stdin: int, stdout: int) -> None:
    """Take over what the request says of this child: its files, environment, arguments and process group."""
    os.dup2(stdin, 0)
    for handle in (1,) if "code" in request else (1, 2):
        os.dup2(stdout, handle)
    os.close(stdin)
    os.close(stdout)
    os.environ.clear()
    os.environ.update(request["environ"])
    sys.argv = request["arguments"]
    if request.get("leads"):
        os.setpgid(0, 0)


def main(handle: int) -> None:
    from tests.unhurried import be_unhurried
    from webapp.cli import main as fencepost

    for name in IMPORTED:
        importlib.import_module(name)
    for name in IMPORTED_IF_THERE:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    be_unhurried()
    gc.freeze()
    request, children = None, set[int]()
    with socket.socket(fileno=handle) as channel, contextlib.suppress(EOFError):
        while request is None:
            request = _served(channel, children)
    if request is None:
        for child in children:
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
    elif "code" in request:
        exec(compile(request["code"], "<string>", "exec"), {"__name__": "__main__"})
    else:
        fencepost(prog_name="fencepost")


if __name__ == "__main__":
    main(int(sys.argv[1]))
