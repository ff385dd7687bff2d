"""`fencepost`, with shorter waits and smaller chunks, so that hundreds of kills fit into an hour.

A worker counts as gone after 6 seconds without a sign of life, not 30; the broker is told again after 2 seconds; a
chunk of a run has 20 responses, not 500. Nothing else differs.
"""

from __future__ import annotations

from webapp.broker import sending
from webapp.cli import main
from webapp.store.jobs import claims, response_chunks

claims.STALE = 6.0
sending.EXPIRES = 2.0
response_chunks.AT_ONCE = 20

if __name__ == "__main__":
    from webapp.broker import tasks

    tasks.TRIES_AGAIN = claims.STALE / 2
    main()
