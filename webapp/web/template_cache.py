"""Compiled templates beside their sources, as Python has compiled modules: a start's first page compiles none."""

from __future__ import annotations

import sys
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

import jinja2.compiler
import jinja2.lexer
import jinja2.parser
from flask import Flask
from jinja2.bccache import Bucket, FileSystemBytecodeCache

from webapp.web import filters, templating

_COMPILERS = (jinja2.compiler, jinja2.lexer, jinja2.parser, filters, templating)


class TemplateCache(FileSystemBytecodeCache):
    """Jinja's own, which leaves out what another version of Python wrote, or compilers other than today's.

    Nothing is written where Python writes no bytecode (`PYTHONDONTWRITEBYTECODE`), or the folder cannot be written.
    """

    def __init__(self, folder: Path) -> None:
        super().__init__(str(folder))
        self._compilers = b"".join(sha256(Path(str(part.__file__)).read_bytes()).digest() for part in _COMPILERS)

    def get_source_checksum(self, source: str) -> str:
        return sha256(self._compilers + source.encode()).hexdigest()

    def load_bytecode(self, bucket: Bucket) -> None:
        with suppress(OSError):
            super().load_bytecode(bucket)

    def dump_bytecode(self, bucket: Bucket) -> None:
        if sys.dont_write_bytecode:
            return
        with suppress(OSError):
            Path(self.directory).mkdir(exist_ok=True)
            super().dump_bytecode(bucket)


def init_app(app: Flask) -> None:
    app.jinja_env.bytecode_cache = TemplateCache(Path(str(app.template_folder)) / "__pycache__")
