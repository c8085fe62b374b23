"""Calls of modules from what TorchScript notes with each operator when torch.profiler records with_modules:
operators in a row that lie in one module are one call of it."""

from __future__ import annotations

import re
from collections.abc import Iterator

import polars as pl

from rocm_perf.model.trace import Trace

# TOP(Net)::forward.layer1(Sequential)::forward.0(Block)::forward.SELF(Block)::helper.
_ENTRY = re.compile(r"(\w+)\(([^()]*)\)::")
_THREAD = ["node", "pass_id", "rank", "pid", "tid"]


def torchscript_modules(trace: Trace, pass_id: int) -> pl.DataFrame:
    """One row for each call: its thread, name and times; outer modules first."""
    noted = (pl.col("pass_id") == pass_id) & pl.col("modules").is_not_null()
    columns = (*_THREAD, "modules", "start_ns", "end_ns")
    operators = trace.lazy("ops").filter(noted).select(columns).collect().sort(*_THREAD, "start_ns")
    paths = {text: module_path(text) for text in operators["modules"].unique()}
    deepest = max(map(len, paths.values()), default=0)
    empty = operators.clear().select(*_THREAD, pl.lit("").alias("name"), "start_ns", "end_ns")
    return pl.concat([empty, *_levels(operators, paths, deepest)])


def module_path(text: str) -> tuple[str, ...]:
    """The modules of a hierarchy, outermost first, as `Class (attribute)`; other methods of a module are left out."""
    entries = [(name, kind) for name, kind in _ENTRY.findall(text) if kind and name != "SELF"]
    return tuple(kind if name == "TOP" else f"{kind} ({name})" for name, kind in entries)


def _levels(
    operators: pl.DataFrame, paths: dict[str, tuple[str, ...]], deepest: int
) -> Iterator[pl.DataFrame]:
    for depth in range(1, deepest + 1):
        around = {
            text: " ".join(path[:depth]) if len(path) >= depth else None for text, path in paths.items()
        }
        name = {text: path[depth - 1] if len(path) >= depth else None for text, path in paths.items()}
        level = operators.with_columns(
            around=pl.col("modules").replace_strict(around, return_dtype=pl.String),
            name=pl.col("modules").replace_strict(name, return_dtype=pl.String),
        )
        runs = level.with_columns(run=pl.struct(*_THREAD, "around").rle_id()).drop_nulls("around")
        yield (
            runs.group_by("run", maintain_order=True)
            .agg(pl.col(*_THREAD, "name", "start_ns").first(), pl.col("end_ns").max())
            .drop("run")
        )
