"""`make migration`: writes the first revision from the models, as plain Alembic that imports nothing of the program.

Until there is a release, whoever changes a table changes its model and runs this. The revision is called by what the
tables are, so that a database with others is not taken for one of today.
"""

from __future__ import annotations

import ast
import hashlib
import subprocess
import sys
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from alembic.autogenerate import produce_migrations, render_python_code
from alembic.autogenerate.api import AutogenContext
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory

from webapp import installation
from webapp.store.db import database
from webapp.store.models import Base
from webapp.store.models.dumps import SEARCH_TABLES

FILE = "0001_first_tables.py"
_WIDTH = 100
"""letters of a line of SQL"""
_TEXT = '''"""The first tables, as `make migration` makes them of the models; frozen with the first release."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "{revision}"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    {tables}
    for statement in SEARCH[op.get_bind().dialect.name]:
        op.get_bind().exec_driver_sql(statement)


SEARCH = {{
{search}
}}
'''


def path() -> Path:
    return installation.resource("migrations") / FILE


def made() -> str:
    """The file's text, not yet formatted."""
    with sa.create_engine("sqlite://", poolclass=sa.NullPool).connect() as connection:
        context = MigrationContext.configure(connection)
        operations = produce_migrations(context, Base.metadata).upgrade_ops
    assert operations is not None
    tables, search = render_python_code(operations, render_item=_plain_type), _search()
    digest = hashlib.sha256(f"{tables}{search}".encode()).hexdigest()[:8]
    return _TEXT.format(tables=tables, search=search, revision=f"0001_{digest}")


def _plain_type(kind: str, item: Any, _context: AutogenContext) -> str | bool:
    """A type of the program as the type of SQLAlchemy that it is stored as; all others as Alembic writes them."""
    if kind != "type" or not isinstance(item, sa.TypeDecorator):
        return False
    return f"sa.{item.impl_instance!r}"


def _search() -> str:
    return "\n".join(
        f'    "{name}": [{", ".join(map(_literal, statements))}],' for name, statements in SEARCH_TABLES.items()
    )


def _literal(statement: str) -> str:
    """A string in lines of some length, with nothing but ASCII in it."""
    lines = [""]
    for letter in statement:
        if len(ascii(lines[-1] + letter)) > _WIDTH:
            lines.append("")
        lines[-1] += letter
    return f"({' '.join(map(ascii, lines))})"


def complaint() -> str | None:
    """What is wrong with the revisions, in one sentence, for a test run to end with."""
    heads = ScriptDirectory.from_config(database.alembic_config()).get_heads()
    if heads != [database.HEAD]:
        return f"migrations/ ends with {', '.join(heads)}, and its highest file is {database.HEAD}: they must be one."
    if database.HEAD.startswith("0001_") and ast.dump(ast.parse(made())) != ast.dump(ast.parse(path().read_text())):
        return f"migrations/{FILE} is not what the models make: run `make migration`."
    return None


if __name__ == "__main__":
    path().write_text(made())
    for step in (["check", "--select", "I", "--fix"], ["format"]):
        subprocess.run([sys.executable, "-m", "ruff", *step, "--quiet", path()], check=True)
