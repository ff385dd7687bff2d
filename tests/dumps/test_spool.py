"""Spooling: what arrives is on disk, decompressed and hashed, or refused without a trace; long sessions spill there."""

from __future__ import annotations

import bz2
import gzip
import hashlib
import io
import lzma
import random
import re
import sys
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from webapp.dumps import sessions
from webapp.dumps.budget import BadDump, TooLarge
from webapp.dumps.records import Turn
from webapp.dumps.sessions import Spill
from webapp.dumps.spool import spool

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

CONTENT = random.Random(7).randbytes(300_000) + b'{"a": 1}\n' * 20_000
GIGABYTE = 2**30


def spooled(data: bytes, folder: Path, max_bytes: int = GIGABYTE):
    return spool(io.BytesIO(data), folder, max_bytes=max_bytes)


@pytest.mark.parametrize(
    "pack",
    [
        pytest.param(lambda content: content, id="plain"),
        pytest.param(gzip.compress, id="gzip"),
        pytest.param(
            lambda content: gzip.compress(content[:70]) + gzip.compress(content[70:]), id="gzip of two members"
        ),
        pytest.param(lambda content: gzip.compress(content) + bytes(512), id="gzip padded with zeros"),
        pytest.param(zstd.compress, id="zstd"),
        pytest.param(lzma.compress, id="xz"),
        pytest.param(bz2.compress, id="bzip2"),
        pytest.param(
            lambda content: zstd.compress(content[:70]) + zstd.compress(content[70:]), id="zstd of two frames"
        ),
    ],
)
def test_the_content_arrives_whole_with_its_hash(pack, tmp_path):
    found = spooled(pack(CONTENT), tmp_path)
    assert found.path.read_bytes() == CONTENT
    assert found.sha256 == hashlib.sha256(CONTENT).hexdigest()
    assert (found.bytes, found.problem, found.path.parent) == (len(CONTENT), None, tmp_path)


def test_a_stream_that_gives_a_byte_at_a_time_is_still_recognised(tmp_path):
    class Slow(io.BytesIO):
        def read(self, size: int | None = -1) -> bytes:
            return super().read(1)

    found = spool(Slow(gzip.compress(b'{"entries": []}')), tmp_path, max_bytes=100)
    assert found.path.read_bytes() == b'{"entries": []}'


@pytest.mark.parametrize("compress", [gzip.compress, zstd.compress])
def test_what_came_before_a_cut_is_kept_and_the_cut_has_a_place(compress, tmp_path):
    found = spooled(compress(CONTENT)[:250_000], tmp_path)
    kept = found.path.read_bytes()
    assert len(kept) > 100_000 and CONTENT.startswith(kept)
    assert found.problem is not None
    assert found.problem.at == "byte 250000 of the compressed file"
    assert "ends in the middle" in found.problem.reason


def test_damage_in_gzip_keeps_what_came_before(tmp_path):
    data = bytearray(gzip.compress(CONTENT))
    data[-8] ^= 255
    found = spooled(bytes(data), tmp_path)
    assert found.problem is not None and "damaged" in found.problem.reason


def test_something_else_behind_gzip_is_said(tmp_path):
    found = spooled(gzip.compress(b"{}") + b"more", tmp_path)
    assert found.path.read_bytes() == b"{}"
    assert found.problem is not None and "follows the end" in found.problem.reason


@pytest.mark.parametrize("data", [b"\x1f\x8b", b"\x1f\x8b\x08garbage", b"\x28\xb5\x2f\xfdgarbage"])
def test_a_compressed_file_that_gives_nothing_is_refused(data, tmp_path):
    with pytest.raises(BadDump, match="it cannot be decompressed"):
        spooled(data, tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "compress",
    [
        lambda content: gzip.compress(content, 1),
        zstd.compress,
        lambda content: lzma.compress(content, preset=0),
        lambda content: bz2.compress(content, 1),
    ],
    ids=["gzip", "zstd", "xz", "bzip2"],
)
def test_a_bomb_is_refused_and_leaves_nothing(compress, tmp_path):
    with pytest.raises(TooLarge, match="bomb"):
        spooled(compress(bytes(80 * 2**20)), tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_more_than_the_limit_is_refused(pack, tmp_path):
    with pytest.raises(TooLarge, match="larger than 1 MB") as caught:
        spooled(pack(random.Random(7).randbytes(1_200_000)), tmp_path, max_bytes=2**20)
    assert re.fullmatch(r"byte 1048576|byte 1[01]\d{5} of the compressed file", caught.value.at or "")
    assert list(tmp_path.iterdir()) == []


def test_a_reader_that_fails_leaves_nothing(tmp_path):
    class Broken(io.RawIOBase):
        def read(self, size: int = -1) -> bytes:
            raise ConnectionResetError

    with pytest.raises(ConnectionResetError):
        spool(Broken(), tmp_path, max_bytes=100)  # type: ignore[arg-type]  # a raw stream is enough here
    assert list(tmp_path.iterdir()) == []


def test_nothing_at_all_is_spooled_as_nothing(tmp_path):
    assert spooled(b"", tmp_path).bytes == 0


FULL = Turn(
    7, "response", "a\0\ud800", "r", "a", "m", "p", 1, 2, 3, "x", "f", [{"a": [float("inf")]}], 4, 5,
    datetime(2020, 1, 1, tzinfo=UTC), 6, 7, 0.5, {"k": None, "big": 10**40}, ("k", 0),
)  # fmt: skip


@pytest.mark.parametrize("count", [0, 1, sessions.MOST_TURNS - 1, sessions.MOST_TURNS, 2 * sessions.MOST_TURNS + 3])
def test_turns_come_out_as_often_as_asked_and_cleared_it_begins_anew(count: int) -> None:
    turns = [replace(FULL, entry=number) for number in range(count)]
    with Spill() as held:
        for turn in turns:
            held.append(turn)
        assert [one for one, _ in zip(held, held, strict=True)] == turns, "two readers do not disturb each other"
        held.clear()
        held.append(FULL)
        assert list(held) == [FULL]


def test_large_texts_go_to_the_file_early() -> None:
    with Spill() as held:
        for number in range(10):
            held.append(Turn(number, "response", "x" * (sessions.MOST_TEXT // 2)))
        assert len(held._held) < 3
        assert [turn.entry for turn in held] == list(range(10))
