"""`fencepost ingest --again`: which kept dumps are to be read anew."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sqlalchemy import orm

from webapp.commands._file_reader import FileReader, FileResult
from webapp.store.sessions import dumps


def read_again(reader: FileReader, prefixes: Sequence[str]) -> Iterator[FileResult]:
    """What comes of each kept dump whose hash or file name begins with one of `prefixes`; of all where there are none.

    The newest come first: the longest dump of a session that grew says most, and the shorter ones then fit it.
    """
    if reader.engine is None:
        raise ValueError("kept dumps are in the store")
    chosen: set[int] = set()
    with reader.engine.connect() as connection:
        for prefix in prefixes or ("",):
            dumps_found = dumps.beginning(connection, prefix)
            chosen.update(dumps_found)
            if not dumps_found and prefixes:
                message = "no dump's hash or file name begins with this"
                yield FileResult(prefix, error={"code": "no_such_dump", "message": message, "at": None})
    for number in sorted(chosen, reverse=True):
        with orm.Session(reader.engine) as db:
            dump = dumps.find(db, number)
        yield reader.again(dump)
