"""The parser that a session's own program used, and who said so."""

from __future__ import annotations

from typing import NamedTuple

UNKNOWN = "unknown"
"""stands where a profile's name would, of a session whose parser nobody named; no profile is called so"""
DECLINED = "declined"
"""the source of an unknown home that somebody was asked for and left open: nobody is asked again"""


class Home(NamedTuple):
    """`source` is who named the profile: told (a person, a command or the dump itself), the format, a remembered
    rule, the program that the dump names, the setting; or unknown, and declined where it was left so."""

    profile: str
    source: str

    @property
    def known(self) -> bool:
        return self.profile != UNKNOWN


READ_AS = "direct"
"""what an unknown parser is read as: `json.loads`"""


ALL_THE_SAME = ("clean", "none")
"""verdicts of `fencepost` for a text that no parser need be known for: plain JSON, and prose that offers none"""


def read_as_json(ours: str) -> str:
    """The verdict of `json.loads` on what `fencepost` gave the verdict `ours`; prose that offers no JSON is none."""
    return ours if ours in ALL_THE_SAME else "failed"


NOT_KNOWN = Home(UNKNOWN, UNKNOWN)


OURS = "fencepost"
