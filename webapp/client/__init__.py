"""Records a running agent's prompts and responses; this folder alone, copied under any name, needs nothing but Python.

Nothing here blocks or breaks the program that records: what goes wrong is counted in `dropped` and said in
`last_error`. What it costs and what it promises: docs/recorder.md.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import math
import os
import threading
import time
import traceback
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .journal import FINAL, Journal, Refused, locked, post, whole_lines

__all__ = ["Recorder", "Refused"]

# Sending a session again as it grows comes to this many bytes a second, unless it grew so many times since the last.
RATE, GROWTH = 64 * 1024, 1.25
MOST_QUEUED, MOST_QUEUED_BYTES = 10_000, 64 * 1024 * 1024  # what waits for the disk; more is dropped
LONGEST_WAIT = 30.0  # seconds between two tries while the server is away


class Recorder:
    """One session of one program, safe to use from many threads; a context manager, and flushed when the program ends.

    `session` is the session's id. `token` is the server's FENCEPOST_TOKEN, `home` the profile that the program's own
    parser comes nearest to, `spool` the folder for what has not been sent yet (FENCEPOST_SPOOL, or `.fencepost/spool`
    in the home folder). `every` is the shortest time in seconds between two sends, `exit_timeout` how many seconds
    leaving waits for the server. `dropped` counts entries that are lost; `last_error` says what went wrong last.
    """

    def __init__(
        self,
        session: str,
        *,
        url: str = "http://127.0.0.1:5001",
        token: str | None = None,
        home: str | None = None,
        title: str | None = None,
        spool: str | os.PathLike[str] | None = None,
        every: float = 1.0,
        exit_timeout: float = 5.0,
    ) -> None:
        self.session = str(session)
        self.dropped = 0
        self.last_error: str | None = None
        self._about = {name: value for name, value in (("home", home), ("title", title)) if value}
        self._to = (url, token)
        self._spool = spool
        self._every, self._exit_timeout = every, exit_timeout
        self._pid = os.getpid()
        self._wake = threading.Condition()
        self._queue: deque[bytes] = deque()
        self._pending = self._pending_bytes = 0
        self._written = self._sent = 0
        self._tried_at, self._not_before, self._failures = time.monotonic(), 0.0, 0
        self._asked = self._answered = 0
        self._closing, self._left_over = False, True
        self._journal: Journal | None = None
        self._sender: threading.Thread | None = None

    def prompt(self, text: Any, **fields: Any) -> None:
        """What the model was told: by the user, the system or the program (`role`)."""
        self._record("prompt", text, fields)

    def response(self, text: Any, **fields: Any) -> None:
        """What the model wrote, word for word, and what is known of it.

        Fencepost understands `model`, `agent`, `phase`, `sounding`, `round`, `attempt`, `parent`, `tokens_in`,
        `tokens_out`, `cost` (US dollars), `failure` (why the program could not use it); it keeps and shows the rest.
        """
        self._record("response", text, fields)

    def tool_call(self, name: str, arguments: Any, **fields: Any) -> None:
        """A call that the model made: `arguments` as it wrote them where they are a text, else as JSON."""
        self._record("tool_call", arguments, {**fields, "name": name})

    def tool_result(self, text: Any, **fields: Any) -> None:
        """What a tool answered; `name` says which."""
        self._record("tool_result", text, fields)

    def error(self, text: Any, *, answers: bool = True, **fields: Any) -> None:
        """What went wrong. With `answers` it is the last response's fault, which thereby counts as failed."""
        self._record("error", text, {**fields, "answers": answers})

    def event(self, text: Any = None, **fields: Any) -> None:
        """Anything else that is worth a line."""
        self._record("event", text, fields)

    def flush(self, timeout: float = 5.0) -> bool:
        """Send what is recorded, now; whether the server has all of it. Waits `timeout` seconds at most."""
        if os.getpid() != self._pid:
            return False
        with self._wake:
            self._guarded(self._start)
            self._asked += 1
            flush_number = self._asked
            self._wake.notify_all()
            self._wake.wait_for(
                lambda: self._answered >= flush_number or not (self._sender and self._sender.is_alive()), timeout
            )
            return not self._pending and self._sent == self._written and self._failures == 0

    def close(self) -> None:
        """Send the rest and end; what the server does not take in `exit_timeout` seconds stays in the spool."""
        if os.getpid() != self._pid:
            return
        with self._wake:
            if not self._closing:
                self._closing = True
                self._asked += 1
                self._wake.notify_all()
        if self._sender is not None:
            self._sender.join(self._exit_timeout)
        atexit.unregister(self.close)

    def __enter__(self) -> Recorder:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _record(self, kind: str, text: Any, fields: dict[str, Any]) -> None:
        if self._guarded(self._encode, kind, text, fields) is not None:
            self._drop(1)

    def _encode(self, kind: str, text: Any, fields: dict[str, Any]) -> None:
        given_fields = {name: value for name, value in fields.items() if value is not None}
        entry = {"session_id": self.session, "recorded_at": time.time(), "kind": kind, "text": _text(text)}
        self._put(json.dumps({**given_fields, **entry}, default=repr, skipkeys=True).encode("ascii") + b"\n")

    def _put(self, line: bytes) -> None:
        if os.getpid() != self._pid:
            raise RuntimeError("this process was forked off the one that records")
        with self._wake:
            if self._closing:
                raise RuntimeError("the recorder is closed")
            if self._pending >= MOST_QUEUED or self._pending_bytes + len(line) > MOST_QUEUED_BYTES:
                raise BufferError("more was recorded at once than the disk takes")
            self._start()
            self._queue.append(line)
            self._pending += 1
            self._pending_bytes += len(line)
            self._wake.notify_all()

    def _start(self) -> None:
        if self._sender is None and not self._closing:
            work = (self._write_on, self._send_on)
            threads = [threading.Thread(target=self._guarded, args=(part,), daemon=True) for part in work]
            for thread in threads:
                thread.start()
            self._sender = threads[1]
            atexit.register(self.close)

    def _guarded(self, work: Callable[..., None], *arguments: Any) -> Exception | None:
        """What `work` raised, a program's own `__repr__` included: it is kept in `last_error` and goes no further."""
        try:
            work(*arguments)
        except Exception as error:  # noqa: BLE001 - whatever happens here is not the recording program's fault
            self.last_error = "".join(traceback.format_exception_only(error)).strip()
            return error
        return None

    def _drop(self, count: int) -> None:
        with contextlib.nullcontext() if os.getpid() != self._pid else self._wake:
            self.dropped += count

    def _write_on(self) -> None:
        """Puts what is recorded into the journal at once, so that a program that is killed loses nothing."""
        while True:
            with self._wake:
                self._wake.wait_for(lambda: self._queue or self._closing)
                if not self._queue:
                    return
                lines = list(self._queue)
                self._queue.clear()
            self._write(lines)
            with self._wake:
                self._pending -= len(lines)
                self._pending_bytes -= sum(map(len, lines))
                self._wake.notify_all()

    def _write(self, lines: list[bytes]) -> None:
        if self._guarded(self._append, lines) is not None:
            self._drop(len(lines))

    def _append(self, lines: list[bytes]) -> None:
        if self._journal is None:
            self._journal = Journal.new(self._folder(), self.session)
        if not self._written and self._about:  # the first entry says what the session is called and parsed with
            lines = [json.dumps(self._about).encode("ascii")[:-1] + b", " + lines[0][1:], *lines[1:]]
        self._written = self._journal.append(b"".join(lines))

    def _folder(self) -> Path | None:
        with contextlib.suppress(RuntimeError, OSError):
            folder = Path(self._spool or os.environ.get("FENCEPOST_SPOOL") or Path.home() / ".fencepost" / "spool")
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            return folder
        return None

    def _send_on(self) -> None:
        """Sends the journal whenever it is due, and ends after a last try once the recorder is closed."""
        while True:
            with self._wake:
                while (seconds := self._seconds()) != 0:
                    if self._closing and self._answered == self._asked:
                        self.dropped += self._journal.end(self._sent) if self._journal else 0
                        return
                    self._wake.wait(seconds)
                until, flush_number = self._written, self._answered if self._pending else self._asked
            if self._left_over:
                self._left_over = False
                self._guarded(self._send_left_over)  # what this session has to say does not wait for it
            failure = self._guarded(self._send, until)
            with self._wake:
                self._note(until, failure)
                self._answered = flush_number
                self._wake.notify_all()

    def _seconds(self) -> float | None:
        """Until something is to be sent: 0 for now, None for not before something else happens."""
        if self._asked != self._answered and not self._pending:
            return 0
        if self._written <= self._sent:
            return None
        wait = self._every if self._written >= GROWTH * self._sent else max(self._every, self._written / RATE)
        at = max(self._not_before, self._tried_at + wait)
        return None if at == math.inf else max(0.0, at - time.monotonic())

    def _send(self, until: int) -> None:
        if self._journal is not None and until > self._sent:
            with self._journal.reading() as file:
                post(*self._to, file, until, f"{self.session}.jsonl")

    def _note(self, until: int, failure: Exception | None) -> None:
        self._tried_at = time.monotonic()
        if failure is None:
            self._sent, self._failures = max(self._sent, until), 0
            return
        self._failures, self._left_over = self._failures + 1, True
        final = isinstance(failure, Refused) and failure.status in FINAL
        self._not_before = self._tried_at + (math.inf if final else min(LONGEST_WAIT, 2 ** min(self._failures, 9) / 2))

    def _send_left_over(self) -> None:
        """Send what recorders that ended without a server left in the spool; those that are still at it are passed."""
        folder = self._folder()
        for path in sorted(folder.glob("*.jsonl")) if folder else []:
            if self._journal is None or path != self._journal.path:
                self._send_one(path)

    def _send_one(self, path: Path) -> None:
        with contextlib.suppress(FileNotFoundError, PermissionError), path.open("rb") as file:
            if not locked(file):
                return
            try:
                if size := whole_lines(file):
                    post(*self._to, file, size, path.name)
            except Refused as refused:
                if refused.status not in FINAL:
                    raise
                self.last_error = f"{path.name}: {refused}"
                path.replace(path.with_suffix(".refused"))
                return
            path.unlink()


def _text(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bytes | bytearray):
        return value.decode("utf-8", "surrogateescape")
    return json.dumps(value, default=repr, skipkeys=True, ensure_ascii=False)
