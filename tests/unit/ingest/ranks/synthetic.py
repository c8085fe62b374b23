"""Collectives of several ranks with known clocks, made of random numbers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from rocm_perf.ingest.ranks.align import Tables, on_common_clocks
from rocm_perf.model import schema

SIZES = (25_000_000, 25_000_000, 4)


@dataclass(frozen=True)
class Clock:
    """What a clock shows: `offset_ns` too much, and `drift_ppm` too fast."""

    offset_ns: float = 0.0
    drift_ppm: float = 0.0


def recorded(
    clocks: list[Clock], turns: int = 60, *, seed: int = 0, jitter_ns: float = 500.0
) -> dict[int, pl.DataFrame]:
    """The collectives of each rank on its clock; `turn` in `correlation_id` is the truth."""
    draw = np.random.default_rng(seed)
    ends = 1_000_000_000 + np.cumsum(draw.uniform(1e6, 3e6, turns))
    frames = {}
    for rank, clock in enumerate(clocks):
        own = ends + draw.exponential(jitter_ns, turns)
        starts = own - 20_000 - draw.uniform(0, 300_000, turns)
        shown = [_shown(times, clock) for times in (starts, own)]
        frames[rank] = schema.conform(
            "collectives",
            pl.DataFrame(
                {
                    "name": ["all_reduce"] * turns,
                    "size_bytes": [SIZES[turn % len(SIZES)] for turn in range(turns)],
                    "group_size": max(2, len(clocks)),
                    "rank": rank,
                    "pid": 100 + rank,
                    "correlation_id": range(turns),
                    "start_ns": shown[0],
                    "end_ns": shown[1],
                }
            ),
        )
    return frames


def _shown(times: np.ndarray, clock: Clock) -> np.ndarray:
    return np.round(times + clock.offset_ns + 1e-6 * clock.drift_ppm * (times - 1e9)).astype(np.int64)


def align(frames: dict[int, pl.DataFrame], *, clock: str = "boot", shared: bool = False) -> Tables:
    """The collectives of all ranks on common clocks, each rank with a clock of its own unless it is `shared`."""
    placed = [
        frame.with_columns(node=pl.lit(0 if shared else rank, pl.Int32)) for rank, frame in frames.items()
    ]
    return on_common_clocks({"collectives": pl.concat(placed)}, dict.fromkeys(frames, clock))


def joined(tables: Tables) -> pl.DataFrame:
    """The collectives of all ranks."""
    return tables["collectives"].sort("rank", "correlation_id")


def is_numbered_rightly(collectives: pl.DataFrame) -> bool:
    """Whether the same number means the same turn, and the other way round, wherever there is a number."""
    pairs = collectives.drop_nulls("collective_id").select("collective_id", "correlation_id").unique()
    return pairs.height == pairs["collective_id"].n_unique() == pairs["correlation_id"].n_unique()
