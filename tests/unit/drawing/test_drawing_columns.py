from __future__ import annotations

import pytest

from gcm.drawing.interior import spread
from gcm.drawing.layered.columns import Cell, Size, arrange, grid
from gcm.drawing.metrics import BOX_MARGIN, CHANNEL_MARGIN, COLUMN_HEIGHT, STEM, TRACK

LEAF = Size(100, 60)


def test_nothing_is_arranged_to_nothing() -> None:
    assert arrange([], []) == []


def test_layers_become_columns() -> None:
    assert arrange([0, 1, 1], [LEAF] * 3) == [Cell(0, 0), Cell(1, 0), Cell(1, 0)]


def test_a_column_is_full_before_it_is_broken() -> None:
    most = COLUMN_HEIGHT // (LEAF.height + 2 * BOX_MARGIN)
    assert {cell.column for cell in arrange([0] * most, [LEAF] * most)} == {0}


def test_many_equal_boxes_wrap_to_a_block() -> None:
    cells = arrange([0] * 48, [LEAF] * 48)
    columns = [sum(1 for cell in cells if cell.column == column) for column in range(4)]
    assert columns == [12, 12, 12, 12]
    assert [cell.column for cell in cells] == sorted(cell.column for cell in cells)


def test_no_column_is_broken_that_is_as_tall_as_a_single_box_anyway() -> None:
    cells = arrange([0] + [1] * 20, [Size(100, 2000)] + [LEAF] * 20)
    assert {cell.column for cell in cells[1:]} == {1}


def test_a_long_chain_folds_into_bands_of_equal_width() -> None:
    cells = arrange(list(range(60)), [LEAF] * 60)
    bands = [sum(1 for cell in cells if cell.band == band) for band in range(5)]
    assert bands == [12] * 5
    assert cells[:2] == [Cell(0, 0), Cell(1, 0)]
    assert cells[12] == Cell(0, 1)


def test_a_low_row_is_broken_where_a_high_one_of_the_same_width_is_not() -> None:
    low = [*range(20)]
    high = [*low, *([3] * 9)]
    assert {cell.band for cell in arrange(low, [LEAF] * len(low))} == {0, 1}
    assert {cell.band for cell in arrange(high, [LEAF] * len(high))} == {0}


def test_a_grid_fills_rows_from_the_left() -> None:
    gap = 2 * BOX_MARGIN + 2 * STEM
    corners, size = grid([LEAF] * 4, least_width=2 * LEAF.width + gap)
    right, down = LEAF.width + gap, LEAF.height + 2 * BOX_MARGIN
    assert corners == [(0, 0), (right, 0), (0, down), (right, down)]
    assert size == Size(right + LEAF.width, down + LEAF.height)


def test_a_row_of_the_grid_is_as_tall_as_its_tallest_box() -> None:
    corners, size = grid([Size(900, 50), Size(10, 80), Size(900, 20)], least_width=1000)
    assert corners == [(0, 0), (946, 0), (0, 102)]
    assert size == Size(956, 122)


def test_an_empty_grid_takes_no_room() -> None:
    assert grid([]) == ([], Size(0, 0))


def test_channels_are_as_wide_as_their_tracks_need() -> None:
    across = spread([100, 50], [1, 3, 0], left_zone=30, right_zone=20, least_width=0)
    channel = 2 * CHANNEL_MARGIN
    second = 30 + channel + 100
    assert across.columns == (30 + channel + 50, second + channel + 2 * TRACK + 25)
    first_track = second + CHANNEL_MARGIN
    assert across.tracks == (
        (30 + CHANNEL_MARGIN,),
        (first_track, first_track + TRACK, first_track + 2 * TRACK),
        (),
    )
    assert across.width == 30 + 3 * channel + 2 * TRACK + 150 + 20


@pytest.mark.parametrize(("least", "width", "column"), [(300, 300, 150), (0, 180, 90)])
def test_missing_width_goes_to_both_ends(least: int, width: int, column: int) -> None:
    across = spread([100], [0, 0], left_zone=0, right_zone=0, least_width=least)
    assert (across.width, across.columns) == (width, (column,))
