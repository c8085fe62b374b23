"""Which call launched what, in files that have no `correlation`: there, `External id` is what both share.

Kineto writes an operator's id as `External id` where it knows one, and otherwise the event's own correlation id; some
builds write nothing more. Flows (`ac2g`) repeat that id.
"""

from __future__ import annotations

import polars as pl


def paired(
    calls: pl.DataFrame, kernels: pl.DataFrame, copies: pl.DataFrame
) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]:
    """The events with the ids that they share as correlation ids, where nothing else says which belong together."""
    if not calls.height or any(frame.height and _stated(frame) for frame in (calls, kernels, copies)):
        return calls, kernels, copies
    if not _shared(calls, [frame for frame in (kernels, copies) if frame.height]):
        return calls, kernels, copies
    return _by_external_id(calls), _by_external_id(kernels), _by_external_id(copies)


def _stated(frame: pl.DataFrame) -> bool:
    return frame["correlation_id"].null_count() < frame.height


def _shared(calls: pl.DataFrame, on_gpu: list[pl.DataFrame]) -> bool:
    """Whether each id on the GPU is that of one call at most, and of one somewhere: an operator's id would be shared by
    all of its calls."""
    if not on_gpu:
        return False
    ids = pl.concat([frame["op_id"] for frame in on_gpu]).drop_nulls().unique()
    named = calls["op_id"].drop_nulls()
    named = named.filter(named.is_in(ids.implode()))
    return len(named) > 0 and named.n_unique() == len(named)


def _by_external_id(frame: pl.DataFrame) -> pl.DataFrame:
    if not frame.height:
        return frame
    nobody = pl.lit(None, frame.schema["op_id"])
    return frame.with_columns(pl.col("op_id").alias("correlation_id"), nobody.alias("op_id"))
