"""Operators as one list, in an order of choice."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

import rocm_perf
from rocm_perf.cli.main import main
from rocm_perf.model.document import Document
from rocm_perf.render.sections.operator_table import ORDERS, operator_table
from rocm_perf.render.sections.operators import operators_section

EAGER = Path(__file__).parents[2] / "data" / "h200" / "eager_sync.json.gz"


@cache
def document() -> Document:
    return rocm_perf.analyze(EAGER, whole=True)


@pytest.mark.parametrize("order", ORDERS)
def test_rows_are_in_order(order: str) -> None:
    operators = {row.name: row for kind in document().operators.categories for row in kind.operators}
    (table,) = operator_table(document(), 100, order).grids
    names = table.columns[-1].cells
    values = [ORDERS[order](operators[name]) for name in names]
    assert len(names) == len(operators)
    assert values == sorted(values, reverse=True)
    assert values[0] > 0


def test_work_is_summed_over_shapes() -> None:
    (table,) = operator_table(document(), 1, "flops").grids
    cells = {column.heading: column.cells[0] for column in table.columns}
    shapes = ((512, 2048), (2048, 512), (512, 1536), (512, 512))
    calls = 20  # of each shape: five steps of four layers
    assert cells["calls"] == str(calls * len(shapes))
    assert float(cells["GFLOP"]) == pytest.approx(
        sum(2 * 128 * k * n for k, n in shapes) * calls / 1e9, rel=0.01
    )


def test_it_says_what_its_times_and_calls_include() -> None:
    assert "calls include those that launched nothing" in operator_table(document(), 1, "self").notes[-1]
    assert "kernels, copies and fills" in " ".join(operators_section(document(), 1).notes)


def test_sort_shows_the_operators_and_nothing_else(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["analyze", str(EAGER), "--sort", "calls", "--top", "1"]) == 0
    assert "Operators by calls" in capsys.readouterr().out
    assert main(["analyze", str(EAGER), "--sort", "calls", "--show", "gaps"]) == 2
    assert "Add operators to it." in capsys.readouterr().err
