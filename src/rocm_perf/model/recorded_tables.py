"""The table of a run that was recorded in windows: which times it covers."""

from __future__ import annotations

from rocm_perf.model.column_kinds import END, START, WHERE, id_
from rocm_perf.model.columns import TableSchema

RECORDED = (
    TableSchema(
        "windows",
        "one window in which a process was recorded; between two of them nothing is known",
        (id_("window", "its number within the process, from 1"), START, END, *WHERE),
    ),
)
