"""Positions columns and tracks from left to right."""

from __future__ import annotations

from collections.abc import Sequence

from gcm.drawing.metrics import CHANNEL_MARGIN, TRACK
from gcm.records import dataclass


@dataclass(frozen=True, slots=True)
class Across:
    """Where the middle of each inner column and each track of each channel is."""

    columns: tuple[int, ...]
    tracks: tuple[tuple[int, ...], ...]
    width: int


def spread(
    column_widths: Sequence[int],
    track_counts: Sequence[int],
    *,
    left_zone: int,
    right_zone: int,
    least_width: int,
) -> Across:
    """Place channel, column, channel and so on; there is one channel more than columns.

    The zones are kept free of tracks for the names of the ports on the two borders. A width that
    is missing to `least_width` goes to the first and the last channel.
    """
    channels = [2 * CHANNEL_MARGIN + TRACK * max(0, count - 1) for count in track_counts]
    natural = left_zone + sum(channels) + sum(column_widths) + right_zone
    surplus = max(0, least_width - natural)
    x = left_zone + surplus // 2
    middles: list[int] = []
    tracks: list[tuple[int, ...]] = []
    for number, count in enumerate(track_counts):
        first = x + CHANNEL_MARGIN
        tracks.append(tuple(first + TRACK * track for track in range(count)))
        x += channels[number]
        if number < len(column_widths):
            middles.append(x + column_widths[number] // 2)
            x += column_widths[number]
    return Across(tuple(middles), tuple(tracks), natural + surplus)
