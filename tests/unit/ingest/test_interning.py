"""Names that many ranks share are kept once."""

from __future__ import annotations

import polars as pl

from rocm_perf.ingest.interning import with_shared_names

LONG = "kernel_" + "x" * 2000


def test_names_stay_the_same() -> None:
    frames = [pl.DataFrame({"kernel": ["a", LONG, None]}), pl.DataFrame({"kernel": [LONG, "b", LONG]})]
    shared = with_shared_names("dispatches", frames)
    assert [frame["kernel"].to_list() for frame in shared] == [["a", LONG, None], [LONG, "b", LONG]]


def test_other_tables_and_a_single_rank_are_left_alone() -> None:
    frames = [pl.DataFrame({"metric": ["a"]})] * 2
    assert with_shared_names("samples", frames) is frames
    alone = [pl.DataFrame({"kernel": ["a"]})]
    assert with_shared_names("dispatches", alone) is alone
