"""Secrets found by the rules of the library detect-secrets: the keys and tokens whose form says what they are."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from webapp.exports.base import MissingLibrary

if TYPE_CHECKING:
    from webapp.exports.redaction import Rule


def secret_rule() -> Rule:
    """A rule that finds what the library's pattern detectors match (its entropy guesses are left out: they mark prose).

    Raises `MissingLibrary`. Nothing is asked of any network.
    """
    try:
        from detect_secrets.core.plugins.util import get_mapping_from_secret_type_to_class
        from detect_secrets.plugins.base import RegexBasedDetector
    except ImportError:
        message = "these rules need the library detect-secrets: pip install 'fencepost[redact]'"
        raise MissingLibrary(message) from None
    kinds: list[Any] = list(get_mapping_from_secret_type_to_class().values())
    detectors = [kind() for kind in kinds if issubclass(kind, RegexBasedDetector)]
    patterns = [(detector.secret_type, pattern) for detector in detectors for pattern in detector.denylist]

    def find(text: str) -> Iterator[tuple[int, int, str]]:
        for name, pattern in patterns:
            for match in pattern.finditer(text):
                yield match.start(), match.end(), name

    return find
