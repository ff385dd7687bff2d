"""Makes `webapp/store/db/packing.zdict`, the dictionary that traces and entries are packed with, from our own samples.

    python -m benchmarks.dictionary examples tests/dumps > webapp/store/db/packing.zdict

Databases hold values that were packed with the one that is there: to change it is to give `packing` a second one.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import sqlalchemy as sa

from webapp import jsontext
from webapp.config import Settings
from webapp.dumps.budget import BadDump
from webapp.dumps.records import UnknownFormat
from webapp.store.db import database
from webapp.store.ingest.start import ingest
from webapp.store.models import Parse, Turn

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

SIZE = 8192
LONGEST = 20_000
"""bytes: what is longer packs well without help"""


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="fencepost-dictionary-") as folder:
        settings = Settings(data=Path(folder), database=f"sqlite:///{folder}/store.sqlite3")
        engine = database.connect(settings.database)
        database.migrate(engine)
        for path in (found for name in sys.argv[1:] for found in sorted(Path(name).rglob("*")) if found.is_file()):
            try:
                with path.open("rb") as stream:
                    ingest(engine, settings, stream, filename=path.name)
            except (BadDump, UnknownFormat):
                continue
        with engine.connect() as connection:
            values = [*connection.scalars(sa.select(Turn.source)), *connection.scalars(sa.select(Parse.trace))]
        engine.dispose()
    samples = [jsontext.dumps(value).encode("ascii") for value in values if value is not None]
    trained = zstd.train_dict([sample for sample in samples if len(sample) <= LONGEST], SIZE)
    sys.stdout.buffer.write(trained.dict_content)


if __name__ == "__main__":
    main()
