"""Which Python frames are code of the user."""

from __future__ import annotations

import polars as pl

from rocm_perf.analysis.basis.keys import named

# A frame reads `path/file.py(12): function`; torch's own frames and built-ins are not the user's code.
_FRAME = r"^[^<].*\(\d+\): "
_LIBRARY = r"^torch/|-packages/torch/"


def is_call_site(spans: pl.DataFrame) -> pl.Series:
    """Whether each span is a Python function outside torch."""
    name = pl.col("name").str
    return (spans["category"] == "python") & named(
        spans["name"], name.contains(_FRAME) & ~name.contains(_LIBRARY)
    )
