"""The simulated GPUs: size and peaks are those of the catalogue."""

from __future__ import annotations

import pytest

from rocm_perf.arch import catalog
from rocm_perf.sim.engine import simulate
from rocm_perf.sim.gpu import find_gpu, gpus
from rocm_perf.sim.record import record
from rocm_perf.sim.workload import parse_workload

WORK = """
[kernel.copy]
bytes = {hbm = 1.0e9}
[kernel.gemm]
flops = {f16 = 1.0e12}
matrix = true
[[thread]]
steps = [{launch = "copy"}, {launch = "gemm"}, {sync = "device"}]
"""


def test_the_models() -> None:
    assert sorted(gpus()) == ["8060S", "MI250X", "MI300X", "MI355X", "RX7900XTX"]


@pytest.mark.parametrize("name", sorted(gpus()))
def test_a_kernel_takes_what_the_catalogue_says(name: str) -> None:
    model = find_gpu(f"sim:{name}")
    known = catalog.find_gpu(model.name)
    trace = record(simulate(parse_workload(WORK), model))
    copy, gemm = (row["end_ns"] - row["start_ns"] for row in trace.table("dispatches").iter_rows(named=True))
    efficiency = model.rates["efficiency"]
    # The first kernel starts after a rest, while the clock rises.
    assert copy == pytest.approx(1e9 / known.memory_gbps / efficiency * model.clock["slowdown"], rel=0.01)
    assert gemm == pytest.approx(1e9 / known.matrix_tflops["f16"] / efficiency, rel=0.01)
    assert (model.compute_units, model.simds, model.gfx) == (known.compute_units, known.simds, known.gfx)
    assert model.lds_bytes == (163_840 if name == "MI355X" else 65_536)
    assert model.memory_bytes > 0
