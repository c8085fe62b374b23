"""The dependency graph of one recording: what every host call, kernel, copy and collective had to wait for."""

from rocm_perf.analysis.graph.build import build
from rocm_perf.analysis.graph.graph import Graph, forward, retimed_wall_ns, slack

__all__ = ["Graph", "build", "forward", "retimed_wall_ns", "slack"]
