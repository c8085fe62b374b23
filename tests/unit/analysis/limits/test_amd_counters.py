"""What limits a kernel on AMD, by its counters: kernels of public recordings with known answers, and one planted limit
at a time on each chip."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from shutil import copyfile
from typing import Any

import pytest

from rocm_perf.analysis.limits.build import kernel_limits
from rocm_perf.analysis.roofline.build import roofline
from rocm_perf.analysis.roofline.devices import devices
from rocm_perf.arch import catalog
from rocm_perf.arch.gpu import Gpu
from rocm_perf.arch.toml import read_toml
from rocm_perf.ingest.load import load
from rocm_perf.model.results.limits import KernelLimits
from rocm_perf.model.trace import Trace
from tests.unit.analysis.traces import trace

TESTS = Path(__file__).parents[3]
RECORDED: list[dict[str, Any]] = read_toml(
    (TESTS / "data" / "amd" / "limits.toml").read_bytes(), "limits.toml"
)["kernel"]
SHARED = TESTS.parents[1] / "shared" / "data"
MI308X = {"name": "MI308X", "gfx": "gfx942", "cu_count": 80}  # no product of the catalogue


def test_there_are_kernels_of_every_kind_of_recording() -> None:
    assert {one["number"] for one in RECORDED} == {*range(1, 10), *range(11, 24), *range(25, 30)}


@pytest.mark.parametrize("one", RECORDED, ids=lambda one: f"{one['number']} {one['name'][:30]}")
def test_a_recorded_kernel(one: Mapping[str, Any]) -> None:
    others = [one["others"]] if "others" in one else []
    found = limits(recording(one["gpu"], [one, *others], one))
    named = [cause.id for cause in found.causes]
    assert (named[0] in one["first"]) if one["first"] else not named, found.causes
    assert not set(named) & set(one["never"]), found.causes


def test_a_first_dispatch_that_touches_its_memory_is_told_apart() -> None:
    one = next(one for one in RECORDED if one["number"] == 9)
    found = limits(recording(one["gpu"], [one, one["others"]], one))
    assert found.causes[0].title == "its first dispatch takes 685 times as long as the others"
    assert found.causes[0].share == pytest.approx(430_646_701 / 431_275_823, abs=1e-4)
    memory = next(unit for unit in found.units if unit.unit == "memory")
    assert memory.busy.value == pytest.approx(
        0.333, abs=0.002
    )  # 1.1 GB in 0.629 ms of 5.3 TB/s: the second dispatch


def test_conflicts_are_worth_the_share_of_the_time_that_they_take() -> None:
    one = next(one for one in RECORDED if one["number"] == 4)
    conflicts = next(
        cause for cause in limits(recording(one["gpu"], [one], one)).causes if cause.id == "bank-conflicts"
    )
    assert conflicts.saves is not None
    assert (
        0.10 <= conflicts.saves <= 0.18
    )  # 94 % of the cycles of a unit that is busy 18 %; 10 % was measured


# One planted limit at a time. Counters follow from a chosen share of each unit: the cycles of the GPU times the rate of
# the unit (causes-counters.md, section 1).

CDNA = ("MI210", "MI300X", "MI350X")
RDNA = ("7900 XTX", "8060S", "RX 9070 XT")
NS = 1_000_000


def cycles(gpu: Gpu) -> float:
    """Cycles of all compute units in the time of the dispatch."""
    return NS * gpu.clock_mhz / 1000 * gpu.compute_units


def running(gpu: Gpu, waits: float, occupancy: float = 0.5, filled: float = 0.99) -> dict[str, float]:
    waves = occupancy * cycles(gpu) * gpu.simds_per_cu * gpu.max_waves_per_simd[gpu.wave_size]
    if gpu.family.startswith("CDNA"):
        waves /= 4
    return {
        "GRBM_GUI_ACTIVE": cycles(gpu) / gpu.compute_units * gpu.dies,
        "SQ_WAVE_CYCLES": waves,
        "SQ_WAIT_ANY": waits * waves,
        "SQ_WAIT_INST_ANY": 0.08 * waves,
        **({"SQ_BUSY_CU_CYCLES": filled * cycles(gpu)} if gpu.family.startswith("CDNA") else {}),
    }


def moved(gpu: Gpu, share: float) -> dict[str, float]:
    """Reads at a share of the peak of the memory."""
    size = share * gpu.memory_gbps * NS
    match gpu.gfx:
        case "gfx90a":
            return {
                "TCC_EA_RDREQ_sum": size / 64,
                "TCC_EA_RDREQ_32B_sum": 0,
                "TCC_EA_WRREQ_sum": 0,
                "TCC_EA_WRREQ_64B_sum": 0,
            }
        case "gfx942" | "gfx950":
            wide = "TCC_BUBBLE_sum" if gpu.gfx == "gfx942" else "TCC_EA0_RDREQ_128B_sum"
            reads = {"TCC_EA0_RDREQ_sum": size / 128, wide: size / 128, "TCC_EA0_RDREQ_32B_sum": 0}
            return {**reads, "TCC_EA0_WRREQ_sum": 0, "TCC_EA0_WRREQ_64B_sum": 0}
        case "gfx1201":
            return {"GL2C_EA_RDREQ_sum": size / 256, "GL2C_EA_WRREQ_sum": 0}
    reads = {f"GL2C_EA_RDREQ_{width}B_sum": 0.0 for width in (32, 64, 96)}
    return {**reads, "GL2C_EA_RDREQ_128B_sum": size / 128, "GL2C_MC_WRREQ_sum": 0, "GL2C_EA_WRREQ_64B_sum": 0}


def computed(gpu: Gpu, share: float, lanes: int = 64) -> dict[str, float]:
    """Vector instructions for a share of the time."""
    if gpu.gfx == "gfx1100":
        number = share * cycles(gpu) * gpu.simds_per_cu
        return {"SQ_INSTS_VALU": number, "SQ_INSTS_WAVE32_VALU": number}
    if gpu.family.startswith("RDNA"):
        return {"SQ_INST_CYCLES_VALU": share * cycles(gpu) * gpu.simds_per_cu}
    number = share * cycles(gpu)
    return {"SQ_ACTIVE_INST_VALU": number, "SQ_INSTS_VALU": number, "SQ_THREAD_CYCLES_VALU": lanes * number}


def local_memory(gpu: Gpu, share: float, conflicts: float) -> dict[str, float]:
    prefix = "SQ" if gpu.family.startswith("CDNA") else "SQC"
    active = share * cycles(gpu) / gpu.cus_per_lds
    return {f"{prefix}_LDS_IDX_ACTIVE": active, f"{prefix}_LDS_BANK_CONFLICT": conflicts * active}


def by_type(gpu: Gpu, **shares: float) -> dict[str, float]:
    """Vector instructions by type, as shares of the time: f64, f32, integer, converting, and transcendental ones."""
    number = {name: share * cycles(gpu) for name, share in shares.items()}
    return {
        **{f"SQ_INSTS_VALU_{what}_F64": 0 for what in ("ADD", "MUL", "TRANS")},
        **{f"SQ_INSTS_VALU_{what}_F32": 0 for what in ("ADD", "MUL")},
        "SQ_INSTS_VALU_TRANS_F16": 0,
        "SQ_INSTS_VALU_FMA_F64": number.get("f64", 0),
        "SQ_INSTS_VALU_FMA_F32": number.get("f32", 0),
        "SQ_INSTS_VALU_INT32": number.get("integer", 0),
        "SQ_INSTS_VALU_INT64": 0,
        "SQ_INSTS_VALU_CVT": number.get("conversion", 0),
        "SQ_INSTS_VALU_TRANS_F32": number.get("special", 0),
    }


def planted(limit: str, gpu: Gpu) -> tuple[dict[str, float], dict[str, int]]:  # noqa: PLR0912
    """Counters and launch of a kernel with one limit."""
    of_64 = 2 if gpu.gfx == "gfx90a" else 1  # its L1 reads 64 bytes at once from L2, that of later chips 128
    ea = "TCC_EA_" if gpu.gfx == "gfx90a" else "TCC_EA0_"
    busy, waiting = running(gpu, 0.3), running(gpu, 0.9)
    few = {**running(gpu, 0.9, occupancy=0.15), **computed(gpu, 0.05), **moved(gpu, 0.1)}
    match limit:
        case "vector-arithmetic":
            return {**busy, **computed(gpu, 0.95), **moved(gpu, 0.1)}, {}
        case "memory-bandwidth":
            return {**waiting, **computed(gpu, 0.2), **moved(gpu, 0.85)}, {}
        case "bank-conflicts":
            return {**busy, **computed(gpu, 0.1), **local_memory(gpu, 0.9, 0.9)}, {}
        case "lds-bandwidth":
            return {**busy, **computed(gpu, 0.2), **local_memory(gpu, 0.9, 0.02)}, {}
        case "memory-latency":
            return {**waiting, **computed(gpu, 0.05), **moved(gpu, 0.1)}, {}
        case "occupancy-registers":
            return few, {"vgprs": 256}
        case "occupancy-local-memory":
            return few, {"lds_bytes": 60_000}
        case "barriers":
            return {
                **waiting,
                **computed(gpu, 0.05),
                **moved(gpu, 0.1),
                "SQ_WAIT_BARRIER": 0.6 * waiting["SQ_WAVE_CYCLES"],
            }, {}
        case "uncoalesced":
            loads = {"TCP_TCC_READ_REQ_sum": 64e6 * of_64, "TA_FLAT_READ_WAVEFRONTS_sum": 1e6}
            return {**waiting, **computed(gpu, 0.05), **moved(gpu, 0.78), **loads}, {}
        case "special-functions":
            mix = {**computed(gpu, 0.95), "SQ_INSTS_VALU": 0.5 * cycles(gpu)}
            return {**busy, **mix, **by_type(gpu, special=0.15, f32=0.3)}, {}
        case "accidental-f64":
            return {**busy, **computed(gpu, 0.9), **by_type(gpu, f64=0.3, conversion=0.6)}, {}
        case "f64-arithmetic":
            return {**busy, **computed(gpu, 0.95), **by_type(gpu, f64=0.9)}, {}
        case "integer-division":
            return {
                **busy,
                **computed(gpu, 0.9),
                **by_type(gpu, integer=0.75, special=0.018, conversion=0.036, f32=0.018),
            }, {}
        case "divergence":
            return {**busy, **computed(gpu, 0.9, lanes=16)}, {}
        case "workgroup-size":
            return {**busy, **computed(gpu, 0.9, lanes=16)}, {"workgroup": 16}
        case "matrix-units":
            return {**busy, **computed(gpu, 0.2), "SQ_VALU_MFMA_BUSY_CYCLES": 0.85 * 4 * cycles(gpu)}, {}
        case "scratch":
            written = {"TCP_TCC_WRITE_REQ_sum": 20_000 * 256 * 2_048 / 64, "SQ_WAVES": 80_000}
            return {**waiting, **computed(gpu, 0.1), **moved(gpu, 0.3), **written}, {"scratch_bytes": 1_024}
        case "contended-atomics" | "many-atomics":
            taken = 1_937 if limit == "contended-atomics" else 382
            atomics = {
                f"{ea}ATOMIC_sum": 5e6,
                f"{ea}ATOMIC_LEVEL_sum": 5e6 * taken,
                "TCC_ATOMIC_sum": 5e6,
                "TCC_REQ_sum": 6e6,
            }
            return {**waiting, **computed(gpu, 0.02), **moved(gpu, 0.05), **atomics}, {}
        case "l2-bandwidth":
            channels = gpu.l2_channels or 0
            asked = {"TCC_REQ_sum": 0.65 * cycles(gpu) / gpu.compute_units * channels}
            return {**running(gpu, 0.6), **computed(gpu, 0.1), **moved(gpu, 0.2), **asked}, {}
        case "tail":
            grid = {"workgroups": round(gpu.compute_units * 8 * 1.2)}
            return {**running(gpu, 0.3, filled=0.55), **computed(gpu, 0.4)}, grid
        case "imbalance":
            return {**running(gpu, 0.3, filled=0.2), **computed(gpu, 0.1)}, {}
    raise ValueError(limit)


EVERYWHERE = (
    "vector-arithmetic",
    "memory-bandwidth",
    "bank-conflicts",
    "lds-bandwidth",
    "memory-latency",
    "occupancy-registers",
)
ON_CDNA = (
    "occupancy-local-memory",
    "uncoalesced",
    "special-functions",
    "accidental-f64",
    "integer-division",
    "divergence",
    "workgroup-size",
    "matrix-units",
    "scratch",
    "contended-atomics",
    "many-atomics",
    "l2-bandwidth",
    "tail",
    "imbalance",
)
PLANTED = [
    *((limit, gpu) for limit in EVERYWHERE for gpu in (*CDNA, *RDNA)),
    *((limit, gpu) for limit in ON_CDNA for gpu in CDNA),
    *(("f64-arithmetic", gpu) for gpu in ("MI300X", "MI350X")),
    ("barriers", "8060S"),
]


@pytest.mark.parametrize(("limit", "gpu"), PLANTED)
def test_a_planted_limit(limit: str, gpu: str) -> None:
    counters, launch = planted(limit, catalog.find_gpu(gpu))
    found = limits(recording(gpu, [{"ns": NS, "counters": counters}], launch))
    assert [cause.id for cause in found.causes][:1] == [limit], found.causes


def test_f64_that_runs_as_fast_as_f32_is_no_finding_of_its_own() -> None:
    """On MI200 both run at one rate unless f32 is packed (mixbench on an MI210: 1.72 against 1.67 ms)."""
    counters, launch = planted("f64-arithmetic", catalog.find_gpu("MI210"))
    found = limits(recording("MI210", [{"ns": NS, "counters": counters}], launch))
    assert [cause.id for cause in found.causes] == ["vector-arithmetic"]


@pytest.mark.parametrize("gpu", CDNA)
def test_scratch_that_is_not_written_costs_nothing(gpu: str) -> None:
    counters, launch = planted("scratch", catalog.find_gpu(gpu))
    counters["TCP_TCC_WRITE_REQ_sum"] /= 100
    found = limits(recording(gpu, [{"ns": NS, "counters": counters}], launch))
    assert [cause.id for cause in found.causes][:1] == ["memory-latency"]


@pytest.mark.parametrize("gpu", CDNA)
def test_dense_doubles_are_not_uncoalesced(gpu: str) -> None:
    """16 look-ups in L1 and 4 lines from L2 for each load, as a dense load of 8 bytes a lane needs."""
    counters, launch = planted("uncoalesced", catalog.find_gpu(gpu))
    counters["TCP_TCC_READ_REQ_sum"] /= 16
    counters |= {"TCP_TOTAL_CACHE_ACCESSES_sum": 16e6, "TA_TOTAL_WAVEFRONTS_sum": 1e6}
    found = limits(recording(gpu, [{"ns": NS, "counters": counters}], launch))
    assert [cause.id for cause in found.causes] == ["memory-bandwidth"]


def test_waits_alone_are_a_hint() -> None:
    """No unit was counted: that none of them is full cannot be said."""
    gpu = catalog.find_gpu("MI300X")
    found = limits(recording("MI300X", [{"ns": NS, "counters": running(gpu, 0.9)}], {}))
    assert [(cause.id, cause.certainty, cause.saves) for cause in found.causes] == [
        ("memory-latency", "hint", None)
    ]
    assert "no unit is full" not in found.causes[0].title


def test_a_unit_that_is_counted_above_its_peak_is_full() -> None:
    one = next(one for one in RECORDED if one["number"] == 2)
    found = limits(recording(one["gpu"], [one], one))
    assert found.causes[0].title == "vector units (VALU) are full: 100.0 % of the time"
    assert "119.5 % were counted: two vector instructions can start in one cycle" in found.causes[0].evidence


# The shared recordings themselves.

FOLDERS = {
    "optiq": ("rocprof_compute", "ROCm_roc-optiq__optiq_"),
    "MI100": ("rocprof_compute", "ROCm_rocm-systems__vcopy_MI100_"),
    "MI350": ("rocprof_compute", "ROCm_rocm-systems__vcopy_MI350_"),
    "attention": ("rocprofv3_csv", "HazyResearch_HipKittens__attn_BHND_mi350x_"),
    "b128": ("rocprofv3_csv", "HazyResearch_HipKittens__ds_read_b128_"),
}


@pytest.mark.skipif(not SHARED.is_dir(), reason="the shared recordings are not here")
@pytest.mark.parametrize(
    ("folder", "kernel", "first"),
    [
        ("optiq", "block_reduce_kernel<false", "scratch"),
        ("optiq", "init_xorwow", "vector-arithmetic"),
        ("optiq", "generate_sobol", "vector-arithmetic"),
        ("MI100", "vecCopy", "short-launch"),
        ("MI350", "vecCopy", "memory-latency"),
        ("attention", "_attn_fwd", None),
        ("b128", "micro_tk", "short-launch"),
    ],
)
def test_a_shared_recording(folder: str, kernel: str, first: str | None, tmp_path: Path) -> None:
    place, prefix = FOLDERS[folder]
    for file in (SHARED / place).glob(f"{prefix}*"):
        copyfile(file, tmp_path / file.name.removeprefix(prefix))
    recorded = load(tmp_path)
    known, points = devices(recorded), roofline(recorded)
    found = kernel_limits(recorded, known, points)
    causes = next(found[point.gpu, point.kernel].causes for point in points.kernels if kernel in point.kernel)
    assert [cause.id for cause in causes][:1] == ([first] if first else [])


def limits(recorded: Trace) -> KernelLimits:
    known = devices(recorded)
    (found,) = kernel_limits(recorded, known, roofline(recorded)).values()
    return found


def recording(gpu: str, dispatches: list[Mapping[str, Any]], launch: Mapping[str, Any]) -> Trace:
    """Dispatches of one kernel, one after the other; each has `ns` and `counters`."""
    agent = MI308X if gpu == "MI308X" else _agent(catalog.find_gpu(gpu))
    workgroup = launch.get("workgroup", 256)
    items = launch.get("work_items", launch.get("workgroups", 20_000) * workgroup)
    shape = {
        "grid_x": items,
        "workgroup_x": workgroup,
        "grid_y": 1,
        "grid_z": 1,
        "workgroup_y": 1,
        "workgroup_z": 1,
    }
    resources = {name: launch.get(name, 0) for name in ("lds_bytes", "scratch_bytes")}
    shape |= {**resources, "vgprs": launch.get("vgprs", 32), "agprs": 0, "sgprs": 32, "agent_id": 1}
    rows, counts, at = [], [], 1_000
    for number, one in enumerate(dispatches, 1):
        times = {"start_ns": at, "end_ns": at + one["ns"]}
        rows.append({"kernel": launch.get("name", "work(float*)"), "dispatch_id": number, **times, **shape})
        counts += [
            {"dispatch_id": number, "agent_id": 1, "counter": name, "value": float(value)}
            for name, value in one["counters"].items()
        ]
        at += one["ns"] + 10_000
    return trace(dispatches=rows, counters=counts, agents=[{"agent_id": 1, "kind": "GPU", **agent}])


def _agent(gpu: Gpu) -> dict[str, object]:
    return {"name": gpu.name, "gfx": gpu.gfx, "cu_count": gpu.compute_units}
