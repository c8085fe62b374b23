"""What holds each kernel back: labels with scores from named measurements, or what is missing to tell."""

from rocm_perf.analysis.bottleneck.build import bottlenecks
from rocm_perf.analysis.bottleneck.scores import FORMULAS

__all__ = ["FORMULAS", "bottlenecks"]
