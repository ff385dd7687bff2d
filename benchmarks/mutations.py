"""Damages a dump at random: parts of a larger file, bits and bytes, values of its JSON, members of its archives."""

from __future__ import annotations

import copy
import functools
import gzip
import io
import json
import random
import sys
import tarfile
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

PIECES = [
    b"{",
    b"}",
    b"[",
    b"]",
    b'"',
    b",",
    b"\\",
    b"\n",
    b"\0",
    b"\xff",
    b"NaN",
    b"null",
    b"-1",
    b'"\\ud800"',
    b"9" * 400,
]
HOSTILE = "<script>fuzz()</script>"
"""Must be found on no page as it stands."""
VALUES: list[Any] = [
    None,
    True,
    0,
    -1,
    2**70,
    10**400,
    1e308,
    -62135596801,
    float("nan"),
    "",
    "x",
    "{",
    "\0",
    "\ud800",
    "\u202e\u0130\u0301",
    "x" * 3000,
    "1969-12-31T23:59:59.999Z",
    "9999-12-31T23:59:59-14:00",
    "2024-13-45",
    HOSTILE,
    f"\"'>{HOSTILE}",
    [],
    {},
    [[]],
    {"": None},
    [None, {}],
]
WHOLE = 0.03
"""How often a file that is longer than what is taken of it is taken whole."""
EPOCH = (1980, 1, 1, 0, 0, 0)


def mutation(path: Path, longest: int, chance: random.Random) -> tuple[bytes, str]:
    """A damaged dump made of the file at `path`, of which about `longest` bytes are taken, and what it is called."""
    content = part(path, longest, chance)
    packed = content.startswith(b"PK\x03\x04")
    content = one_member(content, chance) if packed and chance.random() < 0.7 else mutated(content, chance)
    name = path.name
    if chance.random() < 0.2:
        pack, ending = chance.choice(PACKERS)
        content, name = pack(content, name), name + ending
        if chance.random() < 0.3:
            content = flipped(content, chance)
    return content, chance.choice((name, name, name, name, "dump", "a/b\\c.json"))


def part(path: Path, longest: int, chance: random.Random) -> bytes:
    """A short file, and now and then a long one, whole; else a run of its lines, or of its outermost members."""
    content = path.read_bytes()
    if len(content) <= longest or chance.random() < WHOLE:
        return content
    opening, members, closing = parts(path)
    if len(members) < 2:
        return content[:longest]
    first = chance.randrange(len(members))
    last = first + 1
    while last < len(members) and sum(map(len, members[first:last])) < longest:
        last += 1
    return opening + (b"," if closing else b"\n").join(members[first:last]) + closing


@functools.cache
def parts(path: Path) -> tuple[bytes, list[bytes], bytes]:
    """What a file is put together of: the members of a JSON array or object, else lines."""
    content = path.read_bytes()
    try:
        value = json.loads(content)
    except ValueError:
        return b"", content.splitlines(), b""
    if isinstance(value, dict):
        members = [f"{json.dumps(key)}: {json.dumps(member)}" for key, member in value.items()]
        return b"{", [member.encode() for member in members], b"}"
    return b"[", [json.dumps(member).encode() for member in value], b"]"


def mutated(content: bytes, chance: random.Random) -> bytes:
    """Bits flipped, parts cut, doubled or deleted, or values of a JSON text swapped for others."""
    if chance.random() < 0.35 and (swapped := swapped_values(content, chance)) is not None:
        return swapped
    data = bytearray(content)
    for _ in range(chance.randint(1, 5)):
        at = chance.randrange(len(data) + 1)
        end = min(len(data), at + chance.choice((1, 1, 4, 40, 1000)))
        way = chance.randrange(5)
        if way == 0 and at < len(data):
            data[at] ^= 1 << chance.randrange(8)
        elif way == 1:
            del data[at:end]
        elif way == 2:
            data[at:at] = data[at:end]
        elif way == 3:
            data[at:end] = chance.choice(PIECES)
        elif way == 4 and chance.random() < 0.3:
            del data[at:]
    return bytes(data)


def flipped(content: bytes, chance: random.Random) -> bytes:
    """One to three bits flipped, or the end cut off: what happens to a compressed file."""
    data = bytearray(content)
    for _ in range(chance.randint(1, 3)):
        data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
    return bytes(data[: chance.randrange(len(data))] if chance.random() < 0.3 else data)


def swapped_values(content: bytes, chance: random.Random) -> bytes | None:
    """The same JSON, or JSON lines, with one to four values swapped; None where it is neither."""
    try:
        lines = [json.loads(content)]
    except ValueError:
        try:
            lines = [json.loads(line) for line in content.splitlines() if line.strip()]
        except ValueError:
            return None
    for _ in range(chance.randint(1, 4)):
        swap(lines, chance)
    return "\n".join(json.dumps(line) for line in lines).encode()


def swap(value: Any, chance: random.Random) -> None:
    """Replace something inside `value`, as deep as chance leads: by an odd value, or by another part of it."""
    other = value
    while isinstance(value, dict | list) and value:
        key = chance.choice(sorted(value)) if isinstance(value, dict) else chance.randrange(len(value))
        if chance.random() < 0.3 or not isinstance(value[key], dict | list) or not value[key]:
            put = chance.choice(VALUES) if chance.random() < 0.7 else anywhere(other, chance)
            value[key] = copy.deepcopy(put)
            return
        value = value[key]


def anywhere(value: Any, chance: random.Random) -> Any:
    """A part of `value`, at most some levels deep."""
    for _ in range(chance.randint(1, 8)):
        if isinstance(value, dict | list) and value:
            value = chance.choice(list(value.values()) if isinstance(value, dict) else value)
    return value


def one_member(content: bytes, chance: random.Random) -> bytes:
    """A zip archive in which one member is damaged and the rest is sound; one that is not sound is damaged itself."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            members = [(name, archive.read(name)) for name in archive.namelist()]
    except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, ValueError):
        members = []
    if not members:
        return mutated(content, chance)
    damaged = chance.randrange(len(members))
    members[damaged] = (members[damaged][0], mutated(members[damaged][1], chance))
    return zipped(members)


def zipped(members: list[tuple[str, bytes]]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members:
            archive.writestr(zipfile.ZipInfo(name, EPOCH), data)
    return out.getvalue()


def tarred(content: bytes, name: str) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        member = tarfile.TarInfo(name)
        member.size = len(content)
        archive.addfile(member, io.BytesIO(content))
    return out.getvalue()


PACKERS: list[tuple[Callable[[bytes, str], bytes], str]] = [
    (lambda content, _: gzip.compress(content, mtime=0), ".gz"),
    (lambda content, _: zstd.compress(content), ".zst"),
    (lambda content, name: zipped([(name, content)]), ".zip"),
    (lambda content, name: zipped([(name, content), (f"second/{name}", content[::-1])]), ".zip"),
    (tarred, ".tar"),
    (lambda content, name: gzip.compress(tarred(content, name), mtime=0), ".tar.gz"),
]
