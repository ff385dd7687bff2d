"""`python -m webapp` is the `fencepost` program."""

from __future__ import annotations

from webapp.cli import main

if __name__ == "__main__":
    main(prog_name="fencepost")
