"""Instructions: parsed from what llvm-objdump 19 printed, classified by name, and counted in real kernels."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from rocm_perf.arch.codeobject import disassembly
from rocm_perf.arch.codeobject.disassembly import (
    Instruction,
    NoDisassemblerError,
    disassemble,
    find_disassembler,
    parse,
)
from rocm_perf.arch.codeobject.instructions import class_of, matrix_work, meaning
from rocm_perf.arch.codeobject.mix import Mix, mix_of
from rocm_perf.arch.codeobject.model import Kernel
from rocm_perf.arch.codeobject.observations import observations
from rocm_perf.arch.codeobject.reader import read
from rocm_perf.errors import RocmPerfError
from tests.compile_amd import ARCHS, Compiler

LISTING = """
x.hsaco:	file format elf64-amdgpu

Disassembly of section .text:

0000000000001a00 <mfma_product>:
; mfma_product():
; tests/kernels/mfma.hip:6
	s_cbranch_scc1 26                                          // 000000001A48: BF85001A <mfma_product+0xb4>
; tests/kernels/mfma.hip:7 (discriminator 2)
	global_load_dwordx2 v[22:23], v[18:19], off                // 000000001A74: DC548000 167F0012
	s_waitcnt vmcnt(0)                                         // 000000001A7C: BF8C0F70
	v_mfma_f32_32x32x8f16 v[2:17], v[22:23], v[24:25], v[2:17] // 000000001AA8: D3CC0002 040A3116
; tests/kernels/mfma.hip:6
	s_cbranch_scc0 65520                                       // 000000001AB0: BF84FFF0 <mfma_product+0x74>
	s_endpgm                                                   // 000000001AB4: BF810000
	s_nop 0                                                    // 000000001AB8: BF800000
	s_code_end                                                 // 000000001ABC: BF9F0000

0000000000001b00 <spin>:
	s_delay_alu instid0(VALU_DEP_1) | instskip(SKIP_1) | instid1(VALU_DEP_1)// 000000001B00: BF8700A1
	s_branch 65534                                             // 000000001B04: BFA0FFFE <spin>
"""


def test_a_listing() -> None:
    by_kernel = parse(LISTING.splitlines())
    assert list(by_kernel) == ["mfma_product", "spin"]
    product, spin = by_kernel.values()
    assert [entry.mnemonic for entry in product] == [
        "s_cbranch_scc1", "global_load_dwordx2", "s_waitcnt", "v_mfma_f32_32x32x8f16", "s_cbranch_scc0", "s_endpgm",
    ]  # fmt: skip
    assert (product[1].address, product[1].size_bytes) == (0x1A74, 8)
    assert product[1].text == "global_load_dwordx2 v[22:23], v[18:19], off"
    assert (product[1].file, product[1].line) == ("tests/kernels/mfma.hip", 7)
    assert [entry.target for entry in product] == [0x1AB4, None, None, None, 0x1A74, None]
    assert spin[0].text.endswith("instid1(VALU_DEP_1)")
    assert (spin[0].file, spin[1].target) == (None, 0x1B00)


def test_a_mix() -> None:
    mix = mix_of(parse(LISTING.splitlines())["mfma_product"])
    assert mix.whole.classes == {"matrix": 1, "VMEM load": 1, "wait": 1, "branch": 2, "other": 1}
    assert [(loop.start, loop.end, loop.tally.instructions) for loop in mix.loops] == [(0x1A74, 0x1AB0, 4)]
    assert (mix.in_loops.matrix_flops, mix.in_loops.drains, mix.whole.load_widths) == (16_384, 1, {8: 1})
    assert [(line.line, line.instructions) for line in mix.lines] == [(6, 3), (7, 3)]


@pytest.mark.parametrize(
    ("mnemonic", "kind"),
    [
        ("v_add_f32_e32", "VALU"), ("v_dual_fmac_f32", "VALU"), ("v_accvgpr_write_b32", "VALU"),
        ("v_mfma_ld_scale_b32", "VALU"), ("v_mfma_f32_16x16x16_bf16", "matrix"),
        ("v_smfmac_f32_16x16x32_f16", "matrix"), ("v_wmma_f32_16x16x16_f16", "matrix"),
        ("v_swmmac_f32_16x16x32_f16", "matrix"), ("s_add_u32", "SALU"), ("s_and_saveexec_b64", "SALU"),
        ("s_load_dwordx4", "SMEM"), ("s_load_b128", "SMEM"), ("s_buffer_load_b32", "SMEM"),
        ("s_memtime", "SMEM"), ("s_dcache_wb", "SMEM"), ("global_load_dword", "VMEM load"),
        ("global_load_b128", "VMEM load"), ("buffer_load_ubyte", "VMEM load"),
        ("flat_load_dword", "VMEM load"), ("global_load_lds_dwordx4", "VMEM load"),
        ("global_store_dwordx2", "VMEM store"), ("buffer_store_short", "VMEM store"),
        ("global_atomic_add_f32", "VMEM atomic"), ("flat_atomic_cmpswap", "VMEM atomic"),
        ("scratch_store_b32", "scratch"), ("ds_read2_b64", "LDS"), ("ds_store_b128", "LDS"),
        ("ds_bpermute_b32", "LDS"), ("s_waitcnt", "wait"), ("s_wait_loadcnt_dscnt", "wait"),
        ("s_waitcnt_vscnt", "wait"), ("s_barrier", "barrier"), ("s_barrier_signal", "barrier"),
        ("s_branch", "branch"), ("s_cbranch_execz", "branch"), ("s_swappc_b64", "branch"),
        ("s_call_b64", "branch"), ("s_sendmsg", "message"), ("s_sendmsg_rtn_b32", "message"),
        ("s_nop", "other"), ("s_endpgm", "other"), ("s_delay_alu", "other"), ("buffer_wbl2", "other"),
        ("buffer_gl0_inv", "other"), ("global_wb", "other"), ("s_sleep", "other"),
    ],
)  # fmt: skip
def test_classes(mnemonic: str, kind: str) -> None:
    assert class_of(mnemonic) == kind


@pytest.mark.parametrize(
    ("mnemonic", "flops", "inputs"),
    [
        ("v_mfma_f32_32x32x8f16", 2 * 32 * 32 * 8, "f16"),
        ("v_mfma_f32_32x32x8_f16", 2 * 32 * 32 * 8, "f16"),
        ("v_mfma_f32_32x32x1f32", 2 * 32 * 32 * 1 * 2, "f32"),
        ("v_mfma_f32_32x32x1_2b_f32", 2 * 32 * 32 * 1 * 2, "f32"),
        ("v_mfma_f32_32x32x2f32", 2 * 32 * 32 * 2, "f32"),
        ("v_mfma_f32_16x16x4f16", 2 * 16 * 16 * 4 * 4, "f16"),
        ("v_mfma_f32_16x16x4_4b_f16", 2 * 16 * 16 * 4 * 4, "f16"),
        ("v_mfma_f32_16x16x16f16", 2 * 16 * 16 * 16, "f16"),
        ("v_mfma_f32_4x4x4f16", 2 * 4 * 4 * 4 * 16, "f16"),
        ("v_mfma_f32_4x4x4_16b_f16", 2 * 4 * 4 * 4 * 16, "f16"),
        ("v_mfma_f32_32x32x4bf16", 2 * 32 * 32 * 4, "bf16"),
        ("v_mfma_f32_32x32x4bf16_1k", 2 * 32 * 32 * 4 * 2, "bf16"),
        ("v_mfma_f32_16x16x16bf16_1k", 2 * 16 * 16 * 16, "bf16"),
        ("v_mfma_f64_16x16x4f64", 2 * 16 * 16 * 4, "f64"),
        ("v_mfma_f64_4x4x4f64", 2 * 4 * 4 * 4 * 4, "f64"),
        ("v_mfma_f64_4x4x4_4b_f64", 2 * 4 * 4 * 4 * 4, "f64"),
        ("v_mfma_i32_32x32x16_i8", 2 * 32 * 32 * 16, "i8"),
        ("v_mfma_f32_16x16x32_fp8_fp8", 2 * 16 * 16 * 32, "fp8"),
        ("v_mfma_f32_32x32x64_f8f6f4", 2 * 32 * 32 * 64, "f8f6f4"),
        ("v_mfma_scale_f32_16x16x128_f8f6f4", 2 * 16 * 16 * 128, "f8f6f4"),
        ("v_smfmac_f32_16x16x32_f16", 2 * 16 * 16 * 32, "f16"),
        ("v_wmma_f32_16x16x16_bf16", 2 * 16 * 16 * 16, "bf16"),
        ("v_wmma_i32_16x16x16_iu8", 2 * 16 * 16 * 16, "iu8"),
    ],
)
def test_matrix_work(mnemonic: str, flops: int, inputs: str) -> None:
    assert matrix_work(mnemonic) == (flops, inputs)


@pytest.mark.parametrize(
    ("mnemonic", "width"),
    [
        ("global_load_dwordx4", 16), ("global_load_b96", 12), ("buffer_load_dwordx2", 8), ("flat_load_dword", 4),
        ("global_load_ushort", 2), ("global_load_short_d16_hi", 2), ("global_load_u8", 1), ("global_load_d16_b16", 2),
        ("global_load_lds_dwordx4", 16), ("ds_read_b128", 16), ("ds_read2_b32", 8), ("ds_read2st64_b64", 16),
        ("ds_load_2addr_b32", 8), ("ds_store_2addr_stride64_b32", 8), ("ds_write_b8", 1), ("scratch_load_b32", 4),
        ("ds_swizzle_b32", 4), ("global_atomic_add_f32", 4), ("global_atomic_add_f64", 8),
    ],
)  # fmt: skip
def test_bytes_per_lane(mnemonic: str, width: int) -> None:
    assert meaning(mnemonic).bytes_per_lane == width


@pytest.mark.parametrize(
    ("mnemonic", "kind"),
    [
        ("v_fma_f32", "f32"), ("v_pk_fma_f16", "f16"), ("v_fma_mix_f32", "f16"), ("v_fmac_f64_e32", "f64"),
        ("v_dot2_f32_f16", "f16"), ("v_add_f32_e32", None), ("v_mul_f16_e32", None),
    ],
)  # fmt: skip
def test_multiply_adds(mnemonic: str, kind: str | None) -> None:
    assert meaning(mnemonic).fma_type == kind


# From here on with real kernels, where a disassembler is found.


@pytest.fixture(scope="session")
def compiler(tmp_path_factory: pytest.TempPathFactory) -> Compiler:
    return Compiler.of_this_run(tmp_path_factory)


@pytest.fixture(scope="session")
def tool() -> str:
    try:
        return find_disassembler(os.environ.get(disassembly.VARIABLE))
    except NoDisassemblerError as error:
        pytest.skip(str(error))


def code_of(compiler: Compiler, tool: str, name: str, arch: str) -> tuple[Kernel, Mix, set[str]]:
    path = compiler.compile(name, arch, "-gline-tables-only").path
    kernel = read(path)[0].kernels[0]
    body = disassemble(path.read_bytes(), [kernel.name], tool)[kernel.name]
    assert sum(entry.size_bytes for entry in body) == kernel.code_bytes
    mix = mix_of(body, kernel.scratch_bytes)
    assert sum(mix.whole.classes.values()) == mix.whole.instructions == len(body)
    if mix.undecoded:
        pytest.skip(f"{tool} does not know all of {arch}")
    return kernel, mix, {finding.id for finding in observations(kernel, mix, arch)}


@pytest.mark.parametrize("name", ["vector\0add", "k" * 200_000], ids=["a zero byte", "too long"])
def test_a_name_that_no_argument_can_hold(name: str, compiler: Compiler, tool: str) -> None:
    image = compiler.compile("vector_add", "gfx942").path.read_bytes()
    assert "_Z10vector_addPKfS0_Pfi" in disassemble(image, [name], tool)


@pytest.mark.parametrize("arch", ARCHS)
def test_vector_add(arch: str, compiler: Compiler, tool: str) -> None:
    _, mix, seen = code_of(compiler, tool, "vector_add", arch)
    assert (mix.whole.load_widths, mix.whole.store_widths, mix.loops) == ({4: 2}, {4: 1}, ())
    assert mix.whole.matrix_flops == 0
    assert {Path(line.file).name for line in mix.lines} >= {"vector_add.hip"}
    assert not seen & {"spills", "no-matrix-instructions", "waits-on-every-load"}


@pytest.mark.parametrize("arch", ARCHS)
def test_tile_gemm(arch: str, compiler: Compiler, tool: str) -> None:
    _, mix, seen = code_of(compiler, tool, "tile_gemm", arch)
    assert mix.in_loops.classes["barrier"] == 2
    assert mix.in_loops.classes["VMEM load"] == 2
    assert mix.in_loops.classes["LDS"] >= 4
    assert len(mix.loops) == 1
    assert "no-matrix-instructions" not in seen


@pytest.mark.parametrize(("name", "arch", "flops"), [
    ("mfma", "gfx90a", 16_384), ("mfma", "gfx942", 16_384), ("wmma", "gfx1100", 8_192), ("wmma", "gfx1151", 8_192),
])  # fmt: skip
def test_matrix_kernels(name: str, arch: str, flops: int, compiler: Compiler, tool: str) -> None:
    _, mix, _ = code_of(compiler, tool, name, arch)
    assert (mix.in_loops.classes["matrix"], mix.in_loops.matrix_flops) == (1, flops)
    assert mix.whole.matrix_types == {"f16": 1}


@pytest.mark.native
@pytest.mark.parametrize("arch", ARCHS)
def test_spills_are_seen(arch: str, compiler: Compiler, tool: str) -> None:
    kernel, mix, seen = code_of(compiler, tool, "spill", arch)
    assert kernel.vgpr_spills
    assert mix.whole.classes["scratch"] >= 100
    assert "spills" in seen


@pytest.mark.parametrize("arch", ARCHS)
def test_half_precision_outside_the_matrix_units_is_seen(arch: str, compiler: Compiler, tool: str) -> None:
    _, mix, seen = code_of(compiler, tool, "half_fma", arch)
    assert mix.whole.fma_types.get("f16", 0) >= 16
    assert ("no-matrix-instructions" in seen) == (arch != "gfx1030")
    assert {"narrow-loads", "waits-on-every-load"} <= seen


def test_other_observations() -> None:
    def seen(*texts: str, arch: str = "gfx1100", loop: bool = True) -> set[str]:
        body = [Instruction(8 * number, 8, text) for number, text in enumerate(texts)]
        body.append(Instruction(8 * len(texts), 8, "s_cbranch_scc1 1", target=0 if loop else None))
        return {finding.id for finding in observations(KERNEL, mix_of(body), arch)}

    assert "double-precision" in seen("v_add_f64 v0")
    assert "double-precision" not in seen("v_add_f64 v0", arch="gfx942")
    assert "compare-and-swap-loop" in seen("global_atomic_cmpswap v0")
    assert "compare-and-swap-loop" not in seen("global_atomic_cmpswap v0", loop=False)
    assert "flat-memory" in seen("flat_load_b32 v0")
    assert "exact-division" in seen("v_div_fixup_f32 v0")
    assert "transcendentals" in seen(*["v_exp_f32 v0"] * 4)
    assert "narrow-lds" in seen(*["ds_load_b32 v0"] * 8)
    assert "loop-larger-than-instruction-cache" in seen(*["v_add_f32 v0"] * 4097)
    assert seen("v_add_f32 v0", "global_load_b128 v0") == set()


KERNEL = Kernel(
    name="k", vgprs=8, agprs=0, sgprs=8, vgpr_spills=0, sgpr_spills=0, lds_bytes=0, scratch_bytes=0,
    dynamic_stack=False, wave_size=32, max_workgroup_size=256, kernarg_bytes=0, code_bytes=8, cu_mode=False,
)  # fmt: skip


def test_the_newest_disassembler_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROCM_PATH", str(tmp_path / "none"))
    for name, says in (
        ("llvm-objdump-9", "amdgcn"),
        ("llvm-objdump-21", "x86"),
        ("llvm-objdump-20", "amdgcn"),
    ):
        (tmp_path / name).write_text(f"#!/bin/sh\necho {says}\n")
        (tmp_path / name).chmod(0o755)
    assert find_disassembler(None, str(tmp_path)) == str(tmp_path / "llvm-objdump-20")
    rocm = tmp_path / "rocm" / "llvm" / "bin" / "llvm-objdump"
    rocm.parent.mkdir(parents=True)
    rocm.write_text("#!/bin/sh\necho amdgcn\n")
    rocm.chmod(0o755)
    monkeypatch.setenv("ROCM_PATH", str(tmp_path / "rocm"))
    find_disassembler.cache_clear()
    assert find_disassembler(None, str(tmp_path)) == str(rocm)
    find_disassembler.cache_clear()


def test_without_a_disassembler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROCM_PATH", str(tmp_path))
    with pytest.raises(NoDisassemblerError, match="llvm-19") as caught:
        find_disassembler(None, str(tmp_path))
    assert caught.value.exit_code == 3
    with pytest.raises(NoDisassemblerError, match="cannot run"):
        find_disassembler(str(tmp_path / "absent"))


def test_a_disassembler_that_fails(tmp_path: Path) -> None:
    tool = tmp_path / "objdump"
    tool.write_text("#!/bin/sh\necho 'error: bad file' >&2\nexit 1\n")
    tool.chmod(0o755)
    with pytest.raises(RocmPerfError, match="bad file"):
        disassemble(b"x", ["k"], str(tool))
