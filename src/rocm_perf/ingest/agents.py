"""What tools say about a GPU, in one form."""

from __future__ import annotations

import polars as pl

_NAMELESS = ("", "unknown", "n/a", "none")


def gfx_name(target_version: int) -> str | None:
    """90402 -> gfx942, 90010 -> gfx90a, 110000 -> gfx1100: major*10000 + minor*100 + step, step in hex."""
    if target_version <= 0:
        return None
    major, rest = divmod(target_version, 10_000)
    minor, step = divmod(rest, 100)
    return f"gfx{major}{minor:x}{step:x}"


def gfx_of_target_version(version: pl.Expr, name: pl.Expr) -> pl.Expr:
    """The gfx of an agent: its own name when that is one, else from the target version."""
    return (
        pl.when(name.str.starts_with("gfx"))
        .then(name)
        .otherwise(version.map_elements(gfx_name, return_dtype=pl.String))
    )


def first_known(frame: pl.DataFrame, *columns: str) -> pl.Expr:
    """The value of the first column that has more than a placeholder."""
    cleaned = [
        pl.when(pl.col(column).str.strip_chars().str.to_lowercase().is_in(_NAMELESS))
        .then(None)
        .otherwise(pl.col(column).str.strip_chars())
        for column in columns
        if column in frame.columns
    ]
    return pl.coalesce(cleaned) if cleaned else pl.lit(None, pl.String)


def positive(value: pl.Expr) -> pl.Expr:
    """The value if it is above zero; anything else means that the tool did not know it."""
    return pl.when(value > 0).then(value)
