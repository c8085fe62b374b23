"""The work that operators imply: one module per family of operators, and one registry of their formulas."""

from rocm_perf.analysis.operators.work.evaluate import BASIS, Work, launched_work, operator_work

__all__ = ["BASIS", "Work", "launched_work", "operator_work"]
