"""The page about the loop on a GPU: what was tried, what stopped it, what was gained."""

from __future__ import annotations

from rocm_perf.model.results.optimize import Attempt, GatePassage, Optimization, Speedup
from tests.gpu.optimize.page import Machine, Run, page, stop_of

GAIN = Speedup(base_ns=20_000, new_ns=10_000, value=2.0, interval=(1.9, 2.1), how="replay")


def attempt(name: str, verdict: str, *gates: tuple[str, bool]) -> Attempt:
    passages = tuple(GatePassage(gate=gate, passed=passed, words="") for gate, passed in gates)
    return Attempt(
        number=1, round=0, key=name, name=name, by="unroll", verdict=verdict, reason="why", passages=passages  # type: ignore[arg-type]
    )  # fmt: skip


def test_a_program_is_a_row_and_a_section() -> None:
    result = Optimization(
        source="stencil.hip", kernel="heat_step", arch="sm_90", compiler="nvcc", cause="memory", reason="1 accepted",
        conclusion="improved", gain=GAIN, program_gain=GAIN, diff="--- a\n+++ b\n",
        attempts=(
            attempt("by 2", "accepted", ("text", True)),
            attempt("by 4", "rejected", ("text", True), ("captured", False)),
            attempt("by 8", "no gain", ("text", True)),
        ),
    )  # fmt: skip
    machine = Machine("NVIDIA H200", "580", "nvcc 13.0", "2026-11-17", (1_500, 1_980))
    text = page(machine, [Run("stencil", 30.4, 1e-7, result), Run("matmul", 2, 2e-7, problem="it failed")])
    assert (
        "| stencil | 3 | captured 1, first look 1 | 1 | 2.000x (1.900 to 2.100) | - | 2.000x (1.900 to 2.100) | 30 |"
        in text
    )
    assert "| matmul | | it failed |" in text
    assert "- by 4 (unroll): rejected, why" in text
    assert "further from numpy's than 2e-07" in text


def test_what_ended_an_attempt() -> None:
    assert stop_of(attempt("a", "rejected", ("text", True), ("fresh", False))) == "fresh"
    assert stop_of(attempt("a", "not proposed")) == "not proposed"
    assert stop_of(attempt("a", "failed", ("text", True))) == "failed"
