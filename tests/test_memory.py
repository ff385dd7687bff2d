"""A server's threads share one heap."""

from __future__ import annotations

import ctypes
import subprocess
import sys

import pytest

from webapp import memory

COUNT_HEAPS = """
import ctypes, sys, tempfile, threading
from webapp import memory
if sys.argv[1] == "one":
    memory.use_one_arena()
libc = ctypes.CDLL("libc.so.6")
libc.malloc.restype, libc.fopen.restype = ctypes.c_void_p, ctypes.c_void_p
together = threading.Barrier(4)
def work():
    together.wait()
    libc.malloc(100_000)
    together.wait()
threads = [threading.Thread(target=work) for _ in range(4)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
with tempfile.NamedTemporaryFile() as out:
    file = ctypes.c_void_p(libc.fopen(out.name.encode(), b"w"))
    libc.malloc_info(0, file)
    libc.fclose(file)
    print(out.read().count(b"<heap nr="))
"""


def heaps(how: str) -> int:
    return int(subprocess.run([sys.executable, "-c", COUNT_HEAPS, how], check=True, capture_output=True).stdout)


@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "mallopt"), reason="the C library is not glibc")
def test_threads_share_one_heap() -> None:
    assert heaps("several") > 1
    assert heaps("one") == 1


def test_another_c_library_is_left_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise OSError(f"{name}: cannot open shared object file")

    monkeypatch.setattr(ctypes, "CDLL", missing)
    assert memory.use_one_arena() is False
