"""Which Python frames are code of the user."""

from __future__ import annotations

import polars as pl

# A frame reads `path/file.py(12): function`; torch's own frames and built-ins are not the user's code.
_FRAME = r"^[^<].*\(\d+\): "
_LIBRARY = r"^torch/|-packages/torch/"


def is_call_site(spans: pl.DataFrame) -> pl.Series:
    """Whether each span is a Python function outside torch."""
    return (spans["category"] == "python") & spans["name"].is_in(_sites(spans["name"]).implode())


def _sites(names: pl.Series) -> pl.Series:
    """The names of Python functions outside torch among them."""
    distinct = names.unique()
    sites: pl.Series = distinct.filter(distinct.str.contains(_FRAME) & ~distinct.str.contains(_LIBRARY))
    return sites
