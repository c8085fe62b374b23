"""What instructions work on and in which loop: by name, in listings of the disassemblers, in real kernels."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from rocm_perf.arch.codeobject import disassembly, nvdisasm
from rocm_perf.arch.codeobject.disassembly import NoDisassemblerError, disassemble, find_disassembler, parse
from rocm_perf.arch.codeobject.nvdisasm import find_nvdisasm
from rocm_perf.arch.codeobject.reader import read
from rocm_perf.arch.codeobject.work import Kind, amd_kind, counted, nvidia_kind
from rocm_perf.errors import InputError, RocmPerfError
from rocm_perf.model.device_code import InstructionCount
from tests.compile_amd import ARCHS, Compiler


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("v_fma_f64 v[0:1], v[2:3], v[4:5], v[0:1]", Kind("multiply-add", "f64")),
        ("v_add_f64 v[0:1], v[2:3], v[4:5]", Kind("arithmetic", "f64")),
        ("v_cvt_f64_f32_e32 v[2:3], v0", Kind("conversion", "f64")),
        ("v_cvt_f32_f64_e32 v0, v[2:3]", Kind("conversion", "f64")),
        ("v_cvt_f32_u32_e32 v0, v1", Kind("conversion", "f32")),
        ("v_pk_fma_f16 v0, v1, v2, v3", Kind("multiply-add", "f16")),
        ("v_dual_fmac_f32 v0, v1, v2 :: v_dual_mov_b32 v3, 0", Kind("multiply-add", "f32")),
        ("v_dot4_i32_i8 v0, v1, v2, v3", Kind("multiply-add", "i8")),
        ("v_exp_f32_e32 v0, v1", Kind("special", "f32")),
        ("v_rcp_f32_e32 v0, v1", Kind("special", "f32")),
        ("v_rcp_iflag_f32_e32 v0, v1", Kind("integer division")),
        ("v_mul_f32_e32 v5, 0x5f7ffffc, v5", Kind("integer division")),  # of 64 bits
        ("v_div_fixup_f32 v0, v1, v2, v3", Kind("division", "f32")),
        ("v_mul_hi_u32 v0, v1, v2", Kind("integer", "high half")),
        ("v_lshlrev_b64 v[0:1], 2, v[0:1]", Kind("integer")),
        ("v_cndmask_b32_e32 v0, v1, v2, vcc", Kind("move")),
        ("v_accvgpr_read_b32 v0, a1", Kind("move")),
        ("v_mfma_f32_32x32x8f16 a[0:15], v[0:1], v[2:3], a[0:15]", Kind("matrix", "f16")),
        ("v_wmma_f32_16x16x16_bf16 v[0:7], v[8:15], v[16:23], v[0:7]", Kind("matrix", "bf16")),
        ("global_load_ubyte v0, v[0:1], off", Kind("load", "", 1)),
        ("global_load_u8 v0, v[0:1], off", Kind("load", "", 1)),
        ("global_load_ushort v0, v[0:1], off", Kind("load", "", 2)),
        ("global_load_dwordx4 v[0:3], v[4:5], off", Kind("load", "", 16)),
        ("global_store_b128 v[0:1], v[2:5], off", Kind("store", "", 16)),
        ("global_atomic_add_u32 v[0:1], v2, off", Kind("atomic", "", 4)),
        ("global_atomic_cmpswap_x2 v[0:1], v[2:5], off", Kind("compare-and-swap", "", 8)),
        ("ds_read_b128 v[0:3], v4", Kind("LDS load", "", 16)),
        ("ds_store_b32 v0, v1", Kind("LDS store", "", 4)),
        ("ds_add_u32 v0, v1", Kind("LDS atomic", "", 4)),
        ("ds_cmpst_rtn_b32 v0, v1, v2, v3", Kind("compare-and-swap", "LDS", 4)),
        ("ds_bpermute_b32 v0, v1, v2", Kind("lane exchange")),
        ("scratch_load_dword v5, off, s32 offset:16", Kind("scratch load", "", 4)),
        ("scratch_load_dword v2, v2, off", Kind("scratch load", "indexed", 4)),
        ("scratch_store_b64 off, v[9:10], off offset:1560", Kind("scratch store", "", 8)),
        ("scratch_store_b32 v3, v4, off", Kind("scratch store", "indexed", 4)),
        ("s_barrier", Kind("barrier")),
        ("s_waitcnt vmcnt(0)", Kind("wait")),
        ("s_cbranch_scc1 26", Kind("branch")),
        ("s_swappc_b64 s[30:31], s[4:5]", Kind("call")),
        ("s_load_dwordx4 s[0:3], s[4:5], 0x0", Kind("scalar load")),
        ("s_add_u32 s0, s1, s2", Kind("scalar")),
    ],
)  # fmt: skip
def test_amd_instructions(text: str, kind: Kind) -> None:
    assert amd_kind(text) == kind


def test_buffers_are_scratch_where_the_kernel_has_some() -> None:
    fixed, indexed = (
        "buffer_store_dword v7, off, s[0:3], 0 offset:972",
        "buffer_load_dword v1, v1, s[0:3], 0 offen",
    )
    assert [amd_kind(text, 1024) for text in (fixed, indexed)] == [
        Kind("scratch store", "", 4),
        Kind("scratch load", "indexed", 4),
    ]
    assert [amd_kind(text).work for text in (fixed, indexed)] == ["store", "load"]


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("DFMA R8, R8, R6, 0.5", Kind("multiply-add", "f64")),
        ("F2F.F64.F32 R8, R5", Kind("conversion", "f64")),
        ("F2F.F32.F64 R8, R8", Kind("conversion", "f64")),
        ("I2F.U32.RP R7, UR6", Kind("integer division")),
        ("I2F.U32 R7, R6", Kind("conversion")),
        ("F2FP.F16.F32.PACK_AB R0, R1, R2", Kind("conversion")),
        ("HADD2.F32 R0, -RZ, R1.H0_H0", Kind("conversion", "f16")),
        ("HADD2.F32 R0, R2.H0_H0, R1.H0_H0", Kind("arithmetic", "f16")),
        ("HFMA2.MMA R11, -RZ, RZ, 0, 5.9604644775390625e-08", Kind("move")),
        ("HFMA2.BF16_V2 R0, R1, R2, R3", Kind("multiply-add", "bf16")),
        ("IMAD.MOV.U32 R6, RZ, RZ, -0x2474538f", Kind("move")),
        ("IMAD.HI.U32 R10, R9, R11, R8", Kind("integer", "high half")),
        ("IADD3 R8, R7, 0xffffffe, RZ", Kind("integer")),
        ("UIADD3 UR6, UR5, -0x3, URZ", Kind("scalar")),
        ("MUFU.EX2 R7, R6", Kind("special", "f32")),
        ("MUFU.RCP64H R7, R6", Kind("special", "f64")),
        ("HMMA.16816.F32.BF16 R4, R8, R10, R4", Kind("matrix", "bf16")),
        ("HGMMA.64x128x16.F32 R24, gdesc[UR8], R24", Kind("matrix", "f16")),
        ("IMMA.16832.S8.S8 R4, R8.ROW, R10.COL, R4", Kind("matrix", "i8")),
        ("LDG.E R5, desc[UR4][R2.64]", Kind("load", "", 4)),
        ("LDG.E.U8 R3, desc[UR6][R2.64]", Kind("load", "", 1)),
        ("LDG.E.128.CONSTANT R4, desc[UR4][R2.64]", Kind("load", "", 16)),
        ("STG.E.64 desc[UR4][R2.64], R4", Kind("store", "", 8)),
        ("STL.128 [R1+0x30], R12", Kind("scratch store", "", 16)),
        ("LDL R0, [R1]", Kind("scratch load", "", 4)),
        ("LDL R0, [R5+0x10]", Kind("scratch load", "indexed", 4)),
        ("LDS.128 R4, [R8+UR4]", Kind("LDS load", "", 16)),
        ("ATOMS.CAST.SPIN R7, [R5], R6, R7", Kind("compare-and-swap", "LDS", 4)),
        ("ATOMG.E.CAS.64.STRONG.GPU PT, R6, [R2], R4, R6", Kind("compare-and-swap", "", 8)),
        ("REDG.E.ADD.STRONG.GPU desc[UR6][R4.64], R11", Kind("atomic", "", 4)),
        ("BAR.SYNC.DEFER_BLOCKING 0x0", Kind("barrier")),
        ("SHFL.BFLY PT, R4, R3, 0x10, 0x1f", Kind("lane exchange")),
        ("CALL.REL.NOINC `($__internal_0)", Kind("call")),
        ("LDC.64 R2, c[0x0][0x210]", Kind("scalar load")),
    ],
)
def test_nvidia_instructions(text: str, kind: Kind) -> None:
    assert nvidia_kind(text) == kind


# As nvdisasm 12.8 prints it.
SASS = """
//--------------------- .text.steps          --------------------------
	.section	.text.steps,"ax",@progbits
.text.steps:
	//## File "/src/k.cu", line 3
        /*0000*/                   LDC R1, c[0x0][0x28] ;
        /*0010*/              @!P0 BRA `(.L_x_2) ;
.L_x_0:
        /*0020*/                   LDG.E.U8 R5, desc[UR4][R2.64] ;
.L_x_1:
	//## File "/src/k.cu", line 5 inlined at "/src/k.cu", line 9
        /*0030*/                   F2F.F64.F32 R8, R5 ;
        /*0040*/                   DFMA R8, R8, R6, 0.5 ;
        /*0050*/               @P1 BRA `(.L_x_1) ;
        /*0060*/               @P0 BRA `(.L_x_0) ;
.L_x_2:
        /*0070*/                   EXIT ;
.L_x_3:
        /*0080*/                   BRA `(.L_x_3);
        /*0090*/                   NOP;
"""


def test_a_listing_of_nvdisasm() -> None:
    (body,) = nvdisasm.parse(SASS.splitlines()).values()
    assert [(entry.address, entry.target) for entry in body if entry.target is not None] == [
        (0x10, 0x70), (0x50, 0x30), (0x60, 0x20), (0x80, 0x80),
    ]  # fmt: skip
    assert (body[4].text, body[4].file, body[4].line) == ("DFMA R8, R8, R6, 0.5", "/src/k.cu", 5)
    rows, largest = counted(body, is_amd=False, scratch_bytes=0)
    assert [(row.work, row.loop, row.depth, row.count) for row in rows] == [
        ("scalar load", 0, 0, 1), ("branch", 0, 0, 2), ("load", 1, 1, 1), ("conversion", 2, 2, 1),
        ("multiply-add", 2, 2, 1), ("branch", 2, 2, 1), ("branch", 1, 1, 1),
    ]  # fmt: skip
    assert largest == 0x40
    assert rows[4].source == "/src/k.cu:5"


def test_loops_that_begin_together_or_after_one_another() -> None:
    listing = "\n".join(
        f"\ts_nop 0 // {address:012X}: BF800000" if target is None else
        f"\ts_cbranch_scc1 9 // {address:012X}: BF850000 <k+0x{target:x}>"
        for address, target in ((0, None), (4, 0), (8, None), (12, 8), (16, 0), (20, None))
    )  # fmt: skip
    (body,) = parse(f"0000000000000000 <k>:\n{listing}".splitlines()).values()
    rows, largest = counted(body, is_amd=True, scratch_bytes=0)
    # Branches to one place are one loop, up to the last of them; the loop between lies in it.
    assert {(row.loop, row.depth): row.count for row in rows if row.work == "branch"} == {
        (1, 1): 2,
        (2, 2): 1,
    }
    assert largest == 16


@pytest.fixture(scope="module")
def compiler(tmp_path_factory: pytest.TempPathFactory) -> Compiler:
    return Compiler.of_this_run(tmp_path_factory)


def of_kernel(compiler: Compiler, source: str, name: str, arch: str) -> tuple[InstructionCount, ...]:
    try:
        tool = find_disassembler(os.environ.get(disassembly.VARIABLE))
    except NoDisassemblerError as error:
        pytest.skip(str(error))
    path = compiler.compile(source, arch, "-gline-tables-only").path
    (kernel,) = (one for one in read(path)[0].kernels if one.name == name)
    try:
        body = disassemble(path.read_bytes(), [name], tool)[name]
    except (RocmPerfError, KeyError) as error:
        pytest.skip(f"{tool} does not know {arch}: {error}")
    if any("<unknown>" in entry.text for entry in body):
        pytest.skip(f"{tool} does not know {arch}")
    return counted(body, is_amd=True, scratch_bytes=kernel.scratch_bytes)[0]


@pytest.mark.parametrize("arch", ARCHS)
def test_real_kernels(arch: str, compiler: Compiler) -> None:
    steps = of_kernel(compiler, "code_limits", "double_steps", arch)
    inside = [row for row in steps if row.depth and row.dtype == "f64"]
    fmas, conversions = (
        sum(row.count for row in inside if row.work == work) for work in ("multiply-add", "conversion")
    )
    assert fmas >= 1
    assert conversions == 2 * fmas  # from float and back, at each step
    assert inside[0].source.endswith("code_limits.hip:9")
    copied = {
        (row.work, row.width_bytes)
        for row in of_kernel(compiler, "code_limits", "byte_copy", arch)
        if row.depth
    }
    assert copied >= {("load", 1), ("store", 1)}
    barriers = [row for row in of_kernel(compiler, "code_limits", "phases", arch) if row.work == "barrier"]
    assert all(row.depth == 1 for row in barriers)
    assert sum(row.count for row in barriers) % 2 == 0


@pytest.mark.parametrize("arch", ["gfx90a", "gfx942", "gfx1151"])
def test_an_indexed_array_is_told_from_spills(arch: str, compiler: Compiler) -> None:
    scratch = [
        row for row in of_kernel(compiler, "planted", "indexed", arch) if row.work.startswith("scratch")
    ]
    assert any(row.dtype == "indexed" for row in scratch)


def test_where_nvdisasm_is_looked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("CUDA_HOME", "CUDA_PATH"):
        monkeypatch.delenv(name, raising=False)
    for folder in ("path", "toolkit/bin", "triton"):
        (tmp_path / folder).mkdir(parents=True)
    tools = {}
    for place in ("path/nvdisasm", "toolkit/bin/nvdisasm"):
        tools[place] = tmp_path / place
        tools[place].write_text("#!/bin/sh\n")
        tools[place].chmod(0o755)
    assert find_nvdisasm(None, str(tmp_path / "path")) == str(tools["path/nvdisasm"])
    find_nvdisasm.cache_clear()
    monkeypatch.setenv("CUDA_HOME", str(tmp_path / "toolkit"))
    assert find_nvdisasm(None, str(tmp_path / "path")) == str(tools["toolkit/bin/nvdisasm"])
    find_nvdisasm.cache_clear()


def test_no_nvdisasm(tmp_path: Path) -> None:
    with pytest.raises(NoDisassemblerError, match="cannot be run"):
        find_nvdisasm(str(tmp_path / "absent"))


def test_an_nvdisasm_that_fails_or_hangs(tmp_path: Path) -> None:
    tool = tmp_path / "nvdisasm"
    tool.write_text("#!/bin/sh\necho nonsense >&2; exit 3\n")
    tool.chmod(0o755)
    with pytest.raises(InputError, match="nonsense"):
        nvdisasm.disassemble(b"x", {"k": 1}, str(tool))
    tool.write_text("#!/bin/sh\nexec sleep 60\n")
    with pytest.raises(InputError, match="did not finish"):
        nvdisasm.disassemble(b"x", {"k": 1}, str(tool), timeout_s=0.2)
