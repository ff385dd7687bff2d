"""Shares in words, and the bars of a sparkline as one path."""

from __future__ import annotations

from collections.abc import Sequence


def percent(part: float, whole: float) -> str:
    return f"{100 * part / whole:.2f}".rstrip("0").rstrip(".") if whole else "0"


def spark_bars(series: Sequence[int]) -> str:
    """The bars of a sparkline as one path, which is quicker than an element each: 3 of every 4 wide, 2 to 19 high."""
    most = max(series, default=0)
    heights = [(4 * at, round(18 * count / most, 1) + 1) for at, count in enumerate(series) if count]
    return "".join(f"M{x} 20v-{height:g}h3v{height:g}z" for x, height in heights)
