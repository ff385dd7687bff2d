"""Whole files by name, in the data folder or at an fsspec URL: kept dumps, uploads that wait, and session dumps.

What enters is a finished local file; what leaves is a stream. Nothing is ever seen half written.
"""

from __future__ import annotations

from webapp.config import Settings
from webapp.store.files.base import FileStore, LocalFiles, StoreUnreachable, draft
from webapp.store.files.remote import remote_files

__all__ = ["FileStore", "StoreUnreachable", "draft", "file_store"]


def file_store(settings: Settings) -> FileStore:
    """Where `FENCEPOST_STORE` says, or the data folder; raises `StoreUnreachable`."""
    return remote_files(settings.store) if settings.store else LocalFiles(settings.data)
