"""What stays of rows that lie inside one another is numbered anew, and lies inside what stays around it."""

from __future__ import annotations

import polars as pl

from rocm_perf.analysis.operators.kept_rows import kept_rows

# a ( b ( c d ) e ) f
NESTED = pl.DataFrame(
    {
        "name": list("abcdef"),
        "row": pl.Series(range(6), dtype=pl.UInt32),
        "parent": pl.Series([None, 0, 1, 1, 0, None], dtype=pl.UInt32),
        "behind": pl.Series([5, 4, 3, 4, 5, 6], dtype=pl.UInt32),
    }
)
KEPT = pl.Series([True, False, True, False, True, True])


def _rows(spans: pl.DataFrame) -> dict[str, tuple[int, int | None, int]]:
    return {name: (row, parent, behind) for name, row, parent, behind in spans.iter_rows()}


def test_what_is_left_out_has_its_content_in_what_is_around_it() -> None:
    rows = kept_rows(NESTED["parent"], KEPT)
    assert _rows(rows.spans(NESTED)) == {"a": (0, None, 3), "c": (1, 0, 2), "e": (2, 0, 3), "f": (3, None, 4)}
    assert rows.of(pl.Series("owner", [1, 3, None, 5])).to_list() == [0, 0, None, 3]


def test_room_goes_in_before_a_row() -> None:
    moves = pl.Series([0, 0, 0, 0, 10, 10, 10])  # before e, in a
    rows = kept_rows(NESTED["parent"], KEPT).later(moves)
    assert _rows(rows.spans(NESTED)) == {
        "a": (0, None, 13),
        "c": (1, 0, 2),
        "e": (12, 0, 13),
        "f": (13, None, 14),
    }


def test_everything_may_stay_or_go() -> None:
    every = kept_rows(NESTED["parent"], pl.repeat(True, 6, eager=True))
    assert every.spans(NESTED).equals(NESTED)
    assert kept_rows(NESTED["parent"], pl.repeat(False, 6, eager=True)).spans(NESTED).is_empty()
