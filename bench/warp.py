"""Makes a tiled trace as hard to compress as a recorded one: equal tiles would take far less room than a recording.
Every microsecond is stretched or shrunk at random, which keeps the order and the nesting of all events.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from rocm_perf.model.trace import Trace

_CELL_NS = 1_000
_STRETCH = (0.8, 1.25)
_SEED = 16


def warped(trace: Trace) -> Trace:
    """The trace on a clock that runs faster and slower from one microsecond to the next."""
    times = {name: [each for each in trace.table(name).columns if each.endswith("_ns")] for name in trace}
    columns = [trace.table(name)[each] for name, names in times.items() for each in names]
    known = pl.concat([column.rename("at") for column in columns if column.dtype == pl.Int64]).drop_nulls()
    first, last = (int(known.to_numpy().min()), int(known.to_numpy().max())) if known.len() else (0, 0)
    cells = (last - first) // _CELL_NS + 2
    lengths = np.random.default_rng(_SEED).uniform(*_STRETCH, cells) * _CELL_NS
    ends = np.concatenate([[0], np.cumsum(lengths)])

    def moved(values: pl.Series) -> pl.Series:
        since = (values.fill_null(first) - first).to_numpy()
        place = since // _CELL_NS
        now = ends[place] + (since % _CELL_NS) * (lengths[place] / _CELL_NS)
        return pl.Series(values.name, now.astype(np.int64) + first).set(values.is_null(), None)

    tables = {
        name: trace.table(name).with_columns(moved(trace.table(name)[each]) for each in names)
        for name, names in times.items()
    }
    return Trace(tables, trace.run)
