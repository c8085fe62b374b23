"""Operators whose name stands for several overloads: what torch recorded of each, and the bytes that it moved.

`tests/with_torch/overloads.py` called each of them and wrote the file.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rocm_perf.analysis.operators.work import operator_work

CALLS: list[dict[str, Any]] = json.loads(Path(__file__).with_name("overloads.json").read_text())


@pytest.mark.parametrize(
    "row", CALLS, ids=lambda row: f"{row['operator']}.{row['overload']} {row['dtypes'][0]}"
)
def test_each_overload_moves_what_torch_moved(row: dict[str, Any]) -> None:
    shapes, dtypes, inputs = (json.dumps(row[column]) for column in ("shapes", "dtypes", "inputs"))
    assert operator_work(row["operator"], shapes, dtypes, inputs).bytes.value == row["bytes"]
