"""No two modules import each other, not even through others or inside a function."""

from __future__ import annotations

from graphlib import TopologicalSorter

import grimp


def test_imports_have_no_circles() -> None:
    graph = grimp.build_graph("rocm_perf", cache_dir=None)
    imports = {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}
    order = list(TopologicalSorter(imports).static_order())  # CycleError names the circle
    assert len(order) == len(graph.modules)
