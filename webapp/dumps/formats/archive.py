"""Archives: every member of a .zip or .tar is read as a dump of its own."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from webapp.dumps import reading
from webapp.dumps.base import Context, Entry, Format
from webapp.dumps.head import Head, look
from webapp.dumps.members import MOST_BYTES, Member, of_tar, of_zip
from webapp.dumps.records import BadDump, Problem, Record, TooLarge, Turn, UnknownFormat
from webapp.dumps.source import Source, opened
from webapp.dumps.spool import GZIP, ZSTD, spool

_MOST_AT = 500


@dataclass(frozen=True, slots=True)
class Archive:
    name: str = "archive"
    shapes: str = "a .zip or .tar of any of these"
    inner: Format | None = None
    """the format of all members, where it was told"""

    def sniff(self, head: Head) -> int:
        return 60 if head.shape in ("zip", "tar") else 0

    def of(self, inner: Format) -> Archive:
        """This, for members that are all of the format `inner`."""
        return Archive(inner=inner)

    def read(self, source: Source, head: Head) -> Iterator[Record]:
        if head.shape not in ("zip", "tar"):
            raise BadDump("neither a zip nor a tar archive", "byte 0")
        with tempfile.TemporaryDirectory(prefix="members-") as name:
            folder = Path(name)
            for member in of_zip(source.file, folder) if head.shape == "zip" else of_tar(source.file, folder):
                if isinstance(member, Problem):
                    yield member
                else:
                    yield from self._placed(member, folder)

    def turns(self, entries: Iterable[Entry | Problem], context: Context) -> Iterator[Turn | Problem]:
        """An archive has no entries of its own."""
        return (entry for entry in entries if isinstance(entry, Problem))

    def _placed(self, member: Member, folder: Path) -> Iterator[Record]:
        """The member's records, its problems under its name; what refuses it as a dump is one of them."""
        name = member.name[:_MOST_AT]
        try:
            for record in self._records(member, folder):
                yield Problem(f"{name}: {record.at}", record.reason) if isinstance(record, Problem) else record
        except TooLarge as bomb:
            raise TooLarge(bomb.reason, f"{name}: {bomb.at}") from bomb
        except BadDump as bad:
            yield Problem(f"{name}: {bad.at}", bad.reason)
        except UnknownFormat as unknown:
            yield Problem(name, f"{str(unknown).partition(' Known are:')[0]} It was left out.")

    def _records(self, member: Member, folder: Path) -> Iterator[Record]:
        with member.path.open("rb") as file:
            if not file.read(4).startswith((GZIP, ZSTD)):
                yield from self._read(member.path, member.name)
                return
            file.seek(0)
            spooled = spool(file, folder, max_bytes=MOST_BYTES)
        try:
            if spooled.problem is not None:
                yield spooled.problem
            yield from self._read(spooled.path, member.name)
        finally:
            spooled.path.unlink(missing_ok=True)

    def _read(self, path: Path, name: str) -> Iterator[Record]:
        with opened(path, name) as source:
            head = look(source)
            kind = self.inner or reading.choose(head)
            if isinstance(kind, Archive) or (head.shape in ("zip", "tar") and not kind.sniff(head)):
                raise BadDump("an archive inside an archive; it was left out", "byte 0")
            yield from reading.checked(kind.read(source, head), source)


plugin = Archive()
