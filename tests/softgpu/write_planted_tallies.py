"""Writes tests/data/planted_tallies.json: compiles, executes and counts the kernels of tests/kernels/limits.hip.

Those that are named, else all."""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

from tests.compile_amd import ARCHS, Compiler
from tests.planted_tallies import FILE
from tests.softgpu.counted import Shop
from tests.softgpu.planted_limits import EXECUTED, FEW_ITEMS, KERNELS, launched, per_workgroup

if __name__ == "__main__":
    chips: dict[str, dict[str, dict[str, float]]] = json.loads(FILE.read_text()) if FILE.exists() else {}
    with tempfile.TemporaryDirectory() as folder:
        compiler = Compiler(Path(folder))
        for gfx in ARCHS:
            for kernel in sys.argv[1:] or KERNELS:
                place = Path(folder) / gfx / kernel
                place.mkdir(parents=True)
                launch = launched(kernel, FEW_ITEMS) if "chain" in kernel else launched(kernel)
                result = Shop(compiler, place).count(launch, gfx, most=EXECUTED)
                chips.setdefault(gfx, {})[kernel] = {
                    name: round(amount, 6) for name, amount in per_workgroup(result).items()
                }
    lines = (
        f'"{gfx}": {{\n' + ",\n".join(f'"{name}": {json.dumps(kernels[name])}' for name in kernels) + "\n}"
        for gfx, kernels in chips.items()
    )
    FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n")
