"""Writes what a release brings along as CycloneDX JSON, by cyclonedx-py, with the release's version in it.

    python .ci/sbom.py dist/fencepost.cdx.json build/sbom/bin/python

The second is the interpreter of an environment in which the release, and nothing else, is installed.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def main(target: str, python: str) -> None:
    command = [sys.executable, "-m", "cyclonedx_py", "environment", "--pyproject", str(ROOT / "pyproject.toml")]
    made = subprocess.run(
        [*command, "--output-reproducible", "--of", "JSON", python], stdout=subprocess.PIPE, check=True
    )
    document = json.loads(made.stdout)
    ask = "import importlib.metadata; print(importlib.metadata.version('fencepost'))"
    version = subprocess.run([python, "-c", ask], stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
    document["metadata"]["component"] |= {"version": version, "purl": f"pkg:pypi/fencepost@{version}"}
    Path(target).parent.mkdir(exist_ok=True)
    Path(target).write_text(json.dumps(document, indent=1) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
