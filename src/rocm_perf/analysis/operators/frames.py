"""Which Python frames matter to the analyses of operators: code of the user, and what repeats a part of the forward
pass. All others only lie in between."""

from __future__ import annotations

import polars as pl

from rocm_perf.analysis.basis.keys import named
from rocm_perf.analysis.basis.module_spans import is_module

# A frame reads `path/file.py(12): function`; torch's own frames and built-ins are not the user's code.
_FRAME = r"^[^<].*\(\d+\): "
_LIBRARY = r"^torch/|-packages/torch/"
_AGAIN = r"^torch/utils/checkpoint\.py\(\d+\): recompute_fn$"


def is_call_site(spans: pl.DataFrame) -> pl.Series:
    """Whether each span is a Python function outside torch."""
    name = pl.col("name").str
    return (spans["category"] == "python") & named(
        spans["name"], name.contains(_FRAME) & ~name.contains(_LIBRARY)
    )


def repeats_forward(spans: pl.DataFrame) -> pl.Series:
    """Whether each span is the frame that runs a checkpointed function again."""
    return (spans["category"] == "python") & named(spans["name"], pl.col("name").str.contains(_AGAIN))


def is_looked_at(spans: pl.DataFrame) -> pl.Series:
    """Whether the analyses of operators look at each span: operators, modules, and frames that repeat the forward
    pass."""
    return (spans["category"] == "operator") | is_module(spans) | repeats_forward(spans)
