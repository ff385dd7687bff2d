"""The decoder calls of the response that is parsed now, each with its site; standard library only, Python 3.9 to 3.14.

The child imports this file under a name of its own, beside packages that may be called like ours: hence `from .`.
"""

from __future__ import annotations

import functools
import linecache
import marshal
import os
import sys
import sysconfig
import threading
from pathlib import Path
from typing import Any, Callable  # noqa: UP035 — collections.abc.Callable takes no list in Python 3.9.1

from .plain_values import failure_parts, snapshot

REPEATS = 3  # failing calls of one kind from one line that are kept before the rest of them is only counted
MOST_CALLS = 2_000  # calls kept for one response
MOST_TEXT = 8_000_000  # characters of decoder input kept for one response
JSON_SINKS = ("json", "raw_decode")
STANDARD_FOLDERS = tuple({sysconfig.get_path(name) for name in ("stdlib", "platstdlib")})
_DECODERS = (os.sep + "json" + os.sep, os.sep + "pydantic", os.sep + "ast.py")


class _Thread(threading.local):
    inside: str | None = None  # the decoder that runs now in this thread

    def __init__(self) -> None:
        self.validations: list[tuple[str | None, Any]] = []  # pydantic's that run now, the innermost last


class CallRecorder:
    """The decoder calls of the response that is being parsed; all threads of the process write to it."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.thread = _Thread()
        self.start("")
        self.active = False

    def start(self, raw: str) -> None:
        self.raw = raw
        self.calls: list[dict[str, Any]] = []
        self.characters = self.dropped = 0
        self.active = True

    def stop(self) -> list[dict[str, Any]]:
        """The calls in the order in which they ended, with values and sites; errors as `FAILURE_FIELDS` has them."""
        with self.lock:
            self.active = False
            for call in self.calls:
                if call["site"] is not None:
                    call["site"] = site_of(call["site"])
                if type(call["value"]) is bytes:
                    call["value"] = marshal.loads(call["value"])  # noqa: S302 — written a moment ago, below
            return self.calls

    def run(self, sink: str, text: str, decode: Callable[[], Any], ended: Callable[[Any], int] | None = None) -> Any:
        """Call `decode`; record `text` with what came of it. `ended` says how much of `text` was read for a result."""
        outer = self.thread.inside
        if not self.active or (outer and (outer in JSON_SINKS or outer.partition(".")[0] == sink.partition(".")[0])):
            return decode()
        self.thread.inside = sink
        try:
            result = decode()
        except BaseException as error:
            self.keep(sink, text, False, None, failure_parts(error, text), caller_of(sys._getframe(2)), outer)
            raise
        finally:
            self.thread.inside = outer
        value = snapshot(result[0] if ended else result)
        self.keep(sink, text[: ended(result)] if ended else text, True, value, None, caller_of(sys._getframe(2)), outer)
        return result

    def keep(self, sink: str, text: str, ok: bool, value: Any, error: Any, site: Any, inside: str | None) -> None:
        count, calls = 1, self.calls
        with self.lock:
            if not self.active:
                return
            before = [] if ok or len(calls) < REPEATS else calls[-REPEATS:]
            if before and all(c["site"] == site and not c["ok"] and c["sink"] == sink for c in before):
                last = calls.pop()
                count += last["count"]
                self.characters -= len(last["text"])
            if len(calls) >= MOST_CALLS or self.characters + len(text) > MOST_TEXT:
                self.dropped += 1
                return
            self.characters += len(text)
            call = {"sink": sink, "text": text, "ok": ok, "value": value, "error": error, "site": site}
            calls.append({**call, "inside": inside, "count": count})


RECORDER = CallRecorder()


OWN_FILES = {function.__code__.co_filename for function in (CallRecorder.run, snapshot)}
"""files whose frames are no caller's"""

_KINDS: dict[Any, str] = {}


def _kind(code: Any) -> str:
    """Whether code is a decoder's own or this file's, a library's, or theirs."""
    path = code.co_filename
    library = "site-packages" in path or "dist-packages" in path or path.startswith(STANDARD_FOLDERS) or path[:1] == "<"
    decoder = path in OWN_FILES or any(part in path for part in _DECODERS)
    kind = _KINDS[code] = "decoder" if decoder else "library" if library else "theirs"
    return kind


def caller_of(frame: Any) -> tuple[Any, ...] | None:
    """The line that called the decoder: theirs where one is, else a library's; code and line, then the library's."""
    inner = None
    while frame is not None:
        code = frame.f_code
        kind = _KINDS.get(code) or _kind(code)
        if kind == "theirs":
            return (code, frame.f_lineno, *inner) if inner else (code, frame.f_lineno)
        if inner is None and kind == "library":
            inner = (code, frame.f_lineno)
        frame = frame.f_back
    return inner


@functools.lru_cache(maxsize=1000)
def site_of(caller: tuple[Any, ...]) -> dict[str, Any]:
    code, line = caller[:2]
    source = linecache.getline(code.co_filename, line).strip()
    site = {"file": code.co_filename, "line": line, "function": code.co_name, "source": source[:200]}
    site["through"] = f"{'/'.join(Path(caller[2].co_filename).parts[-3:])}:{caller[3]}" if caller[2:] else ""
    return site
