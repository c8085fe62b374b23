"""Counts by hand, as the emulator would give them for small kernels."""

from __future__ import annotations

import msgspec

from rocm_perf.analysis.emulated.build import Observed
from rocm_perf.arch.codeobject.model import Kernel
from rocm_perf.model.results.count import Executed, Footprint, InstructionCount
from rocm_perf.model.results.replay import CapturedDevice

WAVES = 1024  # of 32 lanes
LANES = 32 * WAVES


def row(text: str, executions: int = WAVES, lanes: int | None = None, **counts: int) -> InstructionCount:
    active = 32 * executions if lanes is None else lanes
    plain = InstructionCount(address=0, text=text, executions=executions, lanes=active)
    return msgspec.structs.replace(plain, **counts)


def moved(text: str, lines: int, each: int = 4) -> InstructionCount:
    """An access of all lanes to `each` bytes, in so many lines of 128 B for each wave."""
    return row(text, bytes=each * LANES, lines_64=2 * lines * WAVES, lines_128=lines * WAVES)


LOAD = moved("global_load_b32 v3, v[1:2], off", 1)
STORE = moved("global_store_b32 v[1:2], v3, off", 1)
MULTIPLY_ADD = row("v_fma_f32 v0, v1, v2, v3")
SAXPY = (
    row("s_load_b128 s[4:7], s[0:1], null", lanes=WAVES, bytes=16 * WAVES, lines_64=WAVES, lines_128=WAVES),
    row("v_lshlrev_b64 v[1:2], 2, v[0:1]"),
    LOAD, LOAD, row("s_waitcnt vmcnt(0)", lanes=0), MULTIPLY_ADD, STORE, row("s_endpgm", lanes=0),
)  # fmt: skip


def observed(
    *rows: InstructionCount,
    footprint: Footprint | None = None,
    workgroups: int = 256,
    of_workgroups: int = 256,
    name: str = "AMD Radeon 8060S",
) -> Observed:
    return Observed(
        kernel="saxpy",
        name="saxpy(float)",
        code="captured",
        device=CapturedDevice(name=name, gfx="gfx1151"),
        grid=(128 * of_workgroups, 1, 1),
        workgroup=(128, 1, 1),
        dynamic_lds_bytes=0,
        resources=KERNEL,
        executed=Executed(
            workgroups=workgroups, of_workgroups=of_workgroups, waves=WAVES, wave_size=32, seconds=0.1
        ),
        rows=rows,
        footprint=footprint or Footprint(line_bytes=128, read=2 * WAVES, written=WAVES, touched=2 * WAVES),
    )


KERNEL = Kernel(
    name="saxpy", vgprs=8, agprs=0, sgprs=16, vgpr_spills=0, sgpr_spills=0, lds_bytes=0, scratch_bytes=0,
    dynamic_stack=False, wave_size=32, max_workgroup_size=128, kernarg_bytes=24, code_bytes=128, cu_mode=False,
)  # fmt: skip
