"""Counts of the emulator beside ncu's on an NVIDIA GPU: one source, compiled by both vendors' compilers without fused
multiply-adds, must have the same floating-point operations, and the same requested bytes within 1 %.

What `rocm-perf count` gives for the HIP builds is in emulated.json, made by emulate.py on a machine without a GPU.
Usage: python3 tests/gpu/count/crosscheck_h200.py OUT.json, with nvcc and ncu on the path. Exit code 1: they differ.
"""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
MOST_OFF = 0.01  # of the requested bytes
_OPERATIONS = {"fadd": 1, "fmul": 1, "ffma": 2}
_FLOPS = {
    f"smsp__sass_thread_inst_executed_op_{name}_pred_on.sum": each for name, each in _OPERATIONS.items()
}
_BYTES = ("smsp__sass_data_bytes_mem_global_op_ld.sum", "smsp__sass_data_bytes_mem_global_op_st.sum")
# Bytes of the sectors that hold what is requested: never fewer, and shown beside.
_SECTORS = ("l1tex__t_bytes_pipe_lsu_mem_global_op_ld.sum", "l1tex__t_bytes_pipe_lsu_mem_global_op_st.sum")


def counted_by_ncu(work: Path) -> dict[str, dict[str, float]]:
    """Every metric of every kernel."""
    program = work / "crosscheck"
    compiled = ["nvcc", "-O3", "-fmad=false", "-arch=native", "-o", str(program), str(HERE / "crosscheck.cu")]
    subprocess.run(compiled, check=True)
    metrics = ",".join((*_FLOPS, *_BYTES, *_SECTORS))
    argv = ["ncu", "--csv", "--print-units", "base", "--metrics", metrics, str(program)]
    done = subprocess.run(argv, check=False, capture_output=True, text=True)
    if done.returncode or '"ID"' not in done.stdout:
        raise SystemExit(f"ncu failed: {done.stdout}{done.stderr}")
    table = done.stdout[done.stdout.index('"ID"') :]
    counted: dict[str, dict[str, float]] = {}
    for row in csv.DictReader(io.StringIO(table)):
        name, value = row["Kernel Name"].partition("(")[0], row["Metric Value"].replace(",", "")
        if value.replace(".", "").isdigit():
            counted.setdefault(name, {})[row["Metric Name"]] = float(value)
    return counted


def compared(emulated: dict[str, int], ncu: dict[str, float]) -> dict[str, object]:
    """One kernel of one chip beside ncu's counts; what ncu does not have is not the same."""
    flops = sum(each * ncu[name] for name, each in _FLOPS.items() if name in ncu)
    requested = sum(ncu[name] for name in _BYTES) if set(_BYTES) <= ncu.keys() else None
    off = abs(emulated["bytes"] / requested - 1) if requested else None
    return {
        "flops": emulated["flops"],
        "ncu_flops": flops,
        "flops_same": emulated["flops"] == flops,
        "bytes": emulated["bytes"],
        "ncu_bytes": requested,
        "ncu_sector_bytes": sum(ncu.get(name, 0.0) for name in _SECTORS),
        "bytes_off": off,
        "bytes_same": off is not None and off <= MOST_OFF,
    }


def main() -> int:
    emulated = json.loads((HERE / "emulated.json").read_text())
    with tempfile.TemporaryDirectory() as work:
        ncu = counted_by_ncu(Path(work))
    rows = {
        gfx: {kernel: compared(counts, ncu.get(kernel, {})) for kernel, counts in kernels.items()}
        for gfx, kernels in emulated.items()
    }
    text = json.dumps({"kernels": rows, "ncu": ncu}, indent=1)
    print(text)
    if len(sys.argv) > 1:
        Path(sys.argv[1]).write_text(text + "\n")
    each = [row for kernels in rows.values() for row in kernels.values()]
    return 0 if all(row["flops_same"] and row["bytes_same"] for row in each) else 1


if __name__ == "__main__":
    sys.exit(main())
