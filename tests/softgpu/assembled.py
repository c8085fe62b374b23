"""A kernel that executes given instructions, one after another, on the same sources, and stores each result."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from collections.abc import Sequence

import numpy as np

from rocm_perf.softgpu.code import LoadedCode
from tests.compile_amd import Compiler
from tests.softgpu.launching import Array, launch, load

LANES = {"gfx90a": 64, "gfx942": 64, "gfx1100": 32, "gfx1151": 32}
# The sources are v[2:3], v[4:5] and v[6:7], what an instruction leaves in v[8:9] is stored.
_KERNEL = """
.amdgcn_target "amdgcn-amd-amdhsa--{arch}"
.text
.globl instructions
.p2align 8
.type instructions,@function
instructions:
  {load} s[4:7], s[0:1], 0x0
  v_lshlrev_b32_e32 v1, 3, v0
  v_mov_b32_e32 v11, v0
  s_waitcnt lgkmcnt(0)
  {wide_load} v[2:3], v1, s[4:5]
  {wide_load} v[4:5], v1, s[4:5] offset:{lane_bytes}
  {wide_load} v[6:7], v1, s[4:5] offset:{twice_lane_bytes}
  s_waitcnt vmcnt(0)
{body}
  s_endpgm
.rodata
.p2align 6
.amdhsa_kernel instructions
  .amdhsa_user_sgpr_kernarg_segment_ptr 1
  .amdhsa_next_free_vgpr 16
  .amdhsa_next_free_sgpr 32
  .amdhsa_group_segment_fixed_size 1024
  .amdhsa_float_denorm_mode_32 3
  {options}
.end_amdhsa_kernel
.amdgpu_metadata
---
amdhsa.version: [1, 2]
amdhsa.kernels:
  - .name: instructions
    .symbol: instructions.kd
    .kernarg_segment_size: 16
    .group_segment_fixed_size: 1024
    .private_segment_fixed_size: 0
    .kernarg_segment_align: 8
    .wavefront_size: {lanes}
    .sgpr_count: 32
    .vgpr_count: 16
    .max_flat_workgroup_size: {lanes}
    .args:
      - {{.offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global}}
      - {{.offset: 8, .size: 8, .value_kind: global_buffer, .address_space: global}}
...
.end_amdgpu_metadata
"""


def assemble(compiler: Compiler, arch: str, instructions: Sequence[str]) -> LoadedCode:
    """The kernel, for one chip."""
    text = _text(arch, instructions)
    key = hashlib.sha256(text.encode()).hexdigest()[:12]
    source = compiler.folder / f"assembled-{key}-{os.getpid()}.s"  # other processes share the folder
    target = source.with_suffix(".hsaco")
    source.write_text(text)
    argv = [*compiler.clang(), "--target=amdgcn-amd-amdhsa", f"-mcpu={arch}", "-c", "-o", f"{source}.o"]
    _run([*argv, str(source)])
    _run([sys.executable, "-m", "ziglang", "ld.lld", "-shared", "-o", str(target), f"{source}.o"])
    return load(target)


def _run(argv: list[str]) -> None:
    done = subprocess.run(argv, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr


def results(code: LoadedCode, sources: Array, count: int) -> Array:
    """What each instruction left, as words of 64 bits by instruction and lane. `sources`: three rows of such words."""
    lanes = LANES[code.arch]
    outputs = np.zeros((count, lanes), "u8")
    return launch(code, "instructions", (sources, outputs), groups=1, block=lanes).arrays[1]


def _text(arch: str, instructions: Sequence[str]) -> str:
    is_gfx9 = arch.startswith("gfx9")
    lanes = LANES[arch]
    store = "global_store_dwordx2" if is_gfx9 else "global_store_b64"
    body = "\n".join(
        f"  v_mov_b32_e32 v8, 0\n  v_mov_b32_e32 v9, 0\n  {line}\n  s_waitcnt lgkmcnt(0)\n"
        f"  {store} v1, v[8:9], s[6:7]\n  s_add_u32 s6, s6, {8 * lanes}\n  s_addc_u32 s7, s7, 0"
        for line in instructions
    )
    return _KERNEL.format(
        arch=arch,
        load="s_load_dwordx4" if is_gfx9 else "s_load_b128",
        wide_load="global_load_dwordx2" if is_gfx9 else "global_load_b64",
        lane_bytes=8 * lanes,
        twice_lane_bytes=16 * lanes,
        body=body,
        lanes=lanes,
        options=".amdhsa_accum_offset 16" if is_gfx9 else ".amdhsa_wavefront_size32 1",
    )
