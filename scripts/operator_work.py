"""What share of the GPU time of torch traces has known work, and why the rest has none.

`python scripts/operator_work.py TRACE...` prints, for every trace, the kernels of at least 1 % of the kernel time whose
operator is recorded: with a point in the roofline, or with the reason why there is none.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from rocm_perf.analysis.operators.tree import operator_tree
from rocm_perf.analysis.roofline.build import roofline
from rocm_perf.ingest.load import load
from rocm_perf.model.trace import Trace

LEAST = 0.01  # of the kernel time


@dataclass(frozen=True)
class Covered:
    """One kernel whose operator is recorded."""

    share: float
    operators: str
    kernel: str
    percent: float | None
    reason: str

    @property
    def has_point(self) -> bool:
        """Whether its work is known."""
        return self.percent is not None


def covered(trace: Trace) -> tuple[list[Covered], float]:
    """The kernels that an operator owns, longest first, and the share of the kernel time that none owns."""
    tree = operator_tree(trace)
    total = max(1, int(tree.kernels["gpu_ns"].sum()))
    owned = tree.kernels.drop_nulls("owner").join(
        tree.operators.select(pl.col("row").alias("owner"), "name"), on="owner"
    )
    by_kernel = owned.group_by("kernel").agg(pl.col("gpu_ns").sum(), pl.col("name").unique().sort())
    points = {row.kernel: row for row in roofline(trace).kernels}
    rows = []
    for kernel, spent, names in by_kernel.sort("gpu_ns", descending=True).iter_rows():
        point = points[kernel]
        known = point.bytes.known or point.flops.known
        percent = float(point.percent_of_roof.value or 0) if known else None
        rows.append(Covered(spent / total, ", ".join(names), kernel, percent, point.reason))
    return rows, 1 - sum(row.share for row in rows)


def main() -> None:
    """Print the table of each trace."""
    for path in map(Path, sys.argv[1:]):
        rows, unowned = covered(load(path))
        known = sum(row.share for row in rows if row.has_point)
        print(f"{path.name}: {100 * known:.1f} % with known work, {100 * unowned:.1f} % owned by no operator")
        for row in rows:
            if row.share >= LEAST:
                state = f"{row.percent:.0f} % of roof" if row.percent is not None else row.reason
                print(f"  {100 * row.share:5.1f} %  {row.operators[:44]:44}  {row.kernel[:48]:48}  {state}")


if __name__ == "__main__":
    main()
