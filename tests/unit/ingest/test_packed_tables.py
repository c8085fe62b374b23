"""What one process sends arrives in the other as it was, whatever its columns hold."""

from __future__ import annotations

import pickle

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from rocm_perf.ingest.packed_tables import packed, unpacked
from rocm_perf.ingest.part import Part
from rocm_perf.model.run import Loss

SOME = pl.DataFrame(
    {"name": ["a", None, "ü"], "empty": [None, None, None], "size": [1, 2, None], "none": [None, None, None]},
    {"name": pl.String, "empty": pl.Int64, "size": pl.UInt64, "none": pl.String},
)


@pytest.mark.parametrize(
    "table",
    [SOME, SOME.head(0), SOME.select("empty", "none"), SOME.cast({"name": pl.Categorical}), pl.DataFrame()],
)
def test_a_table_arrives_as_it_was(table: pl.DataFrame) -> None:
    assert_frame_equal(unpacked(packed(table)), table)


def test_empty_columns_are_not_sent() -> None:
    wide = SOME.with_columns(pl.lit(None, pl.Int64).alias(f"empty_{number}") for number in range(100))
    assert len(packed(wide).content) == len(packed(SOME).content)


def test_a_part_is_sent_with_all_that_it_says() -> None:
    whole = Part({"ops": SOME}, "torch", pid=12, losses=(Loss("a.json", "events", 3),), notices=("late",))
    copy = pickle.loads(pickle.dumps(whole))
    assert_frame_equal(copy.tables.pop("ops"), whole.tables.pop("ops"))
    assert copy == whole
