"""Where the bars of a chart stand, in percent of its width and height; templates draw them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from webapp.store.statistics.figures import Bucket, Entry


@dataclass(frozen=True, slots=True)
class Bar:
    """One rectangle with the entry that it stands for; all in percent, from the left and the top."""

    entry: Entry
    x: str
    y: str
    width: str
    height: str


def percent(part: float, whole: float) -> str:
    return f"{100 * part / whole:.2f}".rstrip("0").rstrip(".") if whole else "0"


def stacked(entries: Sequence[Entry], whole: int | None = None) -> list[Bar]:
    """A line of bars from left to right; the line is `whole` responses long, else as long as they are together."""
    total, at, bars = whole or sum(entry.count for entry in entries), 0, []
    for entry in entries:
        if entry.count:
            bars.append(Bar(entry, percent(at, total), "0", percent(entry.count, total), "100"))
        at += entry.count
    return bars


def columns(buckets: Sequence[Bucket]) -> Iterator[tuple[Bucket, list[Bar]]]:
    """The bars of each stretch of time on top of each other, as high as the fullest stretch lets them be."""
    most, count = most_responses(buckets), len(buckets)
    for at, bucket in enumerate(buckets):
        bars, top, x = [], float(most), percent(at + 0.08, count)
        for entry in bucket.verdicts:
            if entry.count:
                top -= entry.count
                bars.append(Bar(entry, x, percent(top, most), percent(0.84, count), percent(entry.count, most)))
        yield bucket, bars


def spark_bars(series: Sequence[int]) -> str:
    """The bars of a sparkline as one path, which is quicker than an element each: 3 of every 4 wide, 2 to 19 high."""
    most = max(series, default=0)
    heights = [(4 * at, round(18 * count / most, 1) + 1) for at, count in enumerate(series) if count]
    return "".join(f"M{x} 20v-{height:g}h3v{height:g}z" for x, height in heights)


def most_responses(buckets: Sequence[Bucket]) -> int:
    """How many responses the fullest stretch has: the height of the chart."""
    return max((sum(entry.count for entry in bucket.verdicts) for bucket in buckets), default=0)


def microseconds(number: float) -> str:
    """`37 µs`, `1.2 ms`, `3.4 s`."""
    if number < 1000:
        return f"{number:.0f} µs"
    if number < 1_000_000:
        return f"{number / 1000:.{1 if number < 100_000 else 0}f} ms"
    return f"{number / 1_000_000:.1f} s"
