"""Fixtures that every test may use."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of reports, cases and corpus beside the checkout; without it the test is skipped, under CI it fails."""
    folder = ROOT.parent / "shared"
    if not folder.is_dir():
        if os.environ.get("CI") == "true":
            pytest.fail("../shared is missing under CI")
        pytest.skip("needs ../shared (reports, cases, corpus) beside the checkout")
    return folder
