"""The signatures of torch's operators against torch's own schemas."""

from __future__ import annotations

import pytest

from rocm_perf.analysis.operators.work.registry import FAMILIES
from rocm_perf.analysis.operators.work.signature import Formula

torch = pytest.importorskip("torch", reason="torch is not in this environment: make test-torch")

# Of torch 2.4, whose schema had another order; torch changed them since.
OLDER = ("aten::_scaled_mm",)


def schemas() -> dict[str, list[int]]:
    """How many arguments the overloads of each operator have, without those given as `out=`."""
    counts: dict[str, list[int]] = {}
    for schema in torch._C._jit_get_all_schemas():
        given = [argument for argument in schema.arguments if not argument.is_out]
        counts.setdefault(schema.name, []).append(len(given))
    return counts


def fits(formula: Formula, counts: dict[str, list[int]]) -> bool:
    """Whether an overload has as many arguments as the formula has parameters."""
    known = counts.get(formula.operator) or counts.get(f"{formula.operator}_") or []
    number = sum(parameter != "out~" for parameter in formula.parameters)
    return number in known or bool(formula.rest and number <= max(known, default=0))


def test_every_signature_has_as_many_parameters_as_an_overload() -> None:
    counts = schemas()
    ours = [
        formula
        for family in FAMILIES
        for formula in family.FORMULAS
        if formula.operator.startswith("aten::") and "_foreach_" not in formula.operator
    ]
    assert len(ours) > 200
    assert [one.operator for one in ours if one.operator not in OLDER and not fits(one, counts)] == []


def test_the_overloads_that_others_are_checked_by_are_those_of_this_torch() -> None:
    """What torch records of each overload of a name, and what it moves (`python -m tests.with_torch.overloads`)."""
    from tests.with_torch import overloads

    assert len(overloads.names()) > 50
    assert overloads.text() == overloads.FILE.read_text()
