"""Servers of single tests, forked off one process that has imported all that `fencepost serve` does: half a start.

Run as a module it is that process: it is told over a socket what to start, and gives the number of each child.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import importlib
import json
import os
import signal
import socket
import struct
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
IMPORTED = ("webapp.cli", "webapp.app", "webapp.commands.serve", "webapp.web.server.listener")
LENGTH = struct.Struct("!I")


class ForkedProcess:
    """As much of `subprocess.Popen` as tests ask of a server."""

    def __init__(self, arguments: list[str], environ: dict[str, str]) -> None:
        reader, writer = os.pipe()
        self.pid: int = ask({"arguments": arguments, "environ": environ}, writer)
        os.close(writer)
        self.stdout = os.fdopen(reader)
        self.returncode: int | None = None

    def poll(self) -> int | None:
        if self.returncode is None:
            self.returncode = ask({"poll": self.pid})
        return self.returncode

    def wait(self, timeout: float) -> int:
        end = time.monotonic() + timeout
        while (code := self.poll()) is None:
            if time.monotonic() > end:
                raise subprocess.TimeoutExpired("fencepost", timeout)
            time.sleep(0.005)
        return code

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)


def ask(request: dict[str, Any], *handles: int) -> Any:
    """What the process with the modules answers; it takes these handles of files over."""
    channel, body = _channel(), json.dumps(request).encode()
    socket.send_fds(channel, [LENGTH.pack(len(body))], handles)
    channel.sendall(body)
    return json.loads(_read(channel, LENGTH.unpack(_read(channel, LENGTH.size))[0]))


@functools.cache
def _channel() -> socket.socket:
    """To the process with the modules, which is started with the first server and ends with this one."""
    ours, theirs = socket.socketpair()
    command = [sys.executable, "-m", "tests.browser.forking", str(theirs.fileno())]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, pass_fds=[theirs.fileno()])
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


def _served(channel: socket.socket, children: set[int]) -> bool:
    """Do what is asked; True in a child, whose standard output is then the file that came with the request."""
    head, handles, _, _ = socket.recv_fds(channel, LENGTH.size, 1)
    if not head:
        raise EOFError
    request = json.loads(_read(channel, LENGTH.unpack(head + _read(channel, LENGTH.size - len(head)))[0]))
    if "poll" in request:
        number, status = os.waitpid(request["poll"], os.WNOHANG)
        answer = os.waitstatus_to_exitcode(status) if number else None
    elif answer := os.fork():
        children.add(answer)
        os.close(handles[0])
    else:
        channel.close()
        os.dup2(handles[0], 1)
        os.dup2(handles[0], 2)
        os.close(handles[0])
        os.environ.clear()
        os.environ.update(request["environ"])
        sys.argv = ["fencepost", *request["arguments"]]
        return True
    body = json.dumps(answer).encode()
    channel.sendall(LENGTH.pack(len(body)) + body)
    return False


def main(handle: int) -> None:
    from webapp import memory
    from webapp.cli import main as fencepost

    with memory.importing():
        for name in IMPORTED:
            importlib.import_module(name)
        from tests.unhurried import be_unhurried

        be_unhurried()
    children: set[int] = set()
    with socket.socket(fileno=handle) as channel, contextlib.suppress(EOFError):
        while not _served(channel, children):
            pass
        children.clear()
        fencepost(prog_name="fencepost")
    for child in children:
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)


if __name__ == "__main__":
    main(int(sys.argv[1]))
