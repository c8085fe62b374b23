"""How near each kernel comes to what its GPU can compute and move, from counters or from operator shapes."""

from rocm_perf.analysis.roofline.build import FORMULAS, roofline

__all__ = ["FORMULAS", "roofline"]
