"""How the syntax tree is walked."""

from __future__ import annotations

import sys

from rocm_perf.optimize.source.tree import line_of, tree_of


def test_lines_are_counted_without_harm_to_the_interpreter() -> None:
    """Point.row of tree-sitter 0.26 gives a reference away that it does not own; a text of 10,000 tokens crashed."""
    last = tree_of(b"int x;\n" * 3000).root_node.children[-1]
    line = line_of(last)
    owned = sys.getrefcount(line)
    assert [line_of(last) for _ in range(1000)] == [3000] * 1000
    assert sys.getrefcount(line) == owned
