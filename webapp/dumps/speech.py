"""Whether a text may be what somebody said, by the script that it is in."""

from __future__ import annotations

import re

_WORD = re.compile(r"[^\W\d_]{2,}")
_UNSPACED = re.compile(
    "[\u0e00-\u0fff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]"
)
"""letters of scripts that put no spaces between words: Thai, Lao, Burmese, Khmer, Japanese, Chinese"""
LEAST_SIGNS = 6
_LEAST, _WORDS, _LOOKED_AT = 20, 4, 2000
"""characters and words of a text that speaks, and how much of it is looked at"""


def is_speech(text: str) -> bool:
    """Whether somebody may have said this: several words, or as many signs of a script without spaces."""
    text = text[:_LOOKED_AT]
    if len(_UNSPACED.findall(text)) >= LEAST_SIGNS:
        return True
    return len(text) >= _LEAST and " " in text.strip() and len(_WORD.findall(text)) >= _WORDS
