"""Tensile: the kernels that it selects (TENSILE_DB=0x8000), told by the form of their names."""

from __future__ import annotations

import re

from rocm_perf.collect.libraries.logs.call import Call

# Index letters of the result and of both operands, types, and the macro tile.
_KERNEL = re.compile(r"\b(C[a-z]{2,8}_A[a-z]{2,8}_B[a-z]{2,8}_\w*MT\d+x\d+x\d+\w*)")
_TILE = re.compile(r"MT(\d+x\d+x\d+)")


def parse(line: str) -> Call | None:
    match = _KERNEL.search(line)
    if not match:
        return None
    name = match.group(1)
    tile = _TILE.search(name)
    return Call(
        "tensile", "kernel", "kernel", solution=name, parameters=f"macro tile {tile.group(1)}" if tile else ""
    )
