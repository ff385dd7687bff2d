"""Audits pinned libraries with pip-audit, and never says that all is well where nothing was looked up.

    python .ci/audit.py constraints.txt

Exits 1 where an advisory names a pinned version. Where the service cannot be reached, or knows none of the libraries
(a mirror without advisories), it says "not run" and exits 0.
"""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

NOT_RUN = "Audit of dependencies not run: no advisory service reachable"
MOST_NAMED = 20


def main(file: str) -> int:
    command = [sys.executable, "-m", "pip_audit", "--requirement", file, "--no-deps", "--disable-pip"]
    done = subprocess.run([*command, "--format", "json", "--progress-spinner", "off"], capture_output=True, text=True)
    try:
        dependencies: list[dict[str, Any]] = json.loads(done.stdout)["dependencies"]
    except (ValueError, KeyError):
        print(f"{NOT_RUN} ({(done.stderr.strip().splitlines() or ['pip-audit said nothing'])[-1][:300]}).")
        return 0
    return report(dependencies)


def report(dependencies: list[dict[str, Any]]) -> int:
    """Print what pip-audit's JSON says; 1 where there are findings."""
    audited = [each for each in dependencies if "skip_reason" not in each]
    skipped = [each["name"] for each in dependencies if "skip_reason" in each]
    if not audited:
        print(f"{NOT_RUN} (it knows none of {len(skipped)} libraries).")
        return 0
    findings = [(each, advisory) for each in audited for advisory in each["vulns"]]
    for each, advisory in findings:
        fixed = ", ".join(advisory["fix_versions"]) or "no version"
        print(f"{each['name']} {each['version']}: {advisory['id']}, fixed in {fixed}")
    more = f" and {len(skipped) - MOST_NAMED} more" if len(skipped) > MOST_NAMED else ""
    print(f"{len(audited)} libraries audited, {len(findings)} findings, {len(skipped)} not audited", end="")
    print(f": {', '.join(skipped[:MOST_NAMED])}{more}" if skipped else "")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
