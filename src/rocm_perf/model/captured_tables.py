"""The tables of what was recorded while graphs were captured. Nothing of it ran then: a replay does, later and often.
Times are those of the capture, so these tables stay apart from what the host did in the run."""

from __future__ import annotations

import polars as pl

from rocm_perf.model.column_kinds import END, GEOMETRY, HOST_SPAN, START, WHERE, id_, text
from rocm_perf.model.columns import Column, TableSchema

_GRAPH = Column("captured_graph", pl.Int64, "the graph: row of `captured_graphs`", required=True)

CAPTURED = (
    TableSchema(
        "captured_graphs",
        "one graph whose capture was recorded",
        (
            _GRAPH,
            text("name", "name of the range that the program set around the capture"),
            text("source", "file that the capture was read from"),
            Column("whole", pl.Boolean, "both ends of the capture are recorded", required=True),
            START,
            END,
            *WHERE,
        ),
    ),
    TableSchema(
        "captured_launches",
        "one kernel launch that went into a graph instead of running",
        (
            Column("launch_id", pl.Int64, "number in the order of capture", required=True),
            _GRAPH,
            text("kernel", "kernel name as recorded with the call"),
            *HOST_SPAN,
            *GEOMETRY,
        ),
    ),
    TableSchema(
        "captured_ops",
        "one operator or Python function that was open when a launch was captured",
        (
            _GRAPH,
            text("name", "operator or function", required=True),
            text("category", "operator or python", required=True),
            *HOST_SPAN,
            id_("op_id", "the recorder's id within its category"),
            text("shapes", "JSON list of argument shapes"),
            text("dtypes", "JSON list of argument types"),
            text("strides", "JSON list of argument strides"),
            text("inputs", "JSON list of scalar arguments"),
        ),
    ),
)
