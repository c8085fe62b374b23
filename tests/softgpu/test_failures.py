"""What ends an execution says which instruction, where, and why; and what is counted is what was planted."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from rocm_perf.errors import InputError, NotSupportedError
from rocm_perf.softgpu.answer import InstructionCount
from rocm_perf.softgpu.code import load_code
from rocm_perf.softgpu.errors import EmulationError, EmulationTimeoutError
from rocm_perf.softgpu.plan import Options
from tests.compile_amd import Compiler
from tests.softgpu.assembled import assemble, results
from tests.softgpu.launching import Array, launch

pytestmark = pytest.mark.softgpu
_SOURCES: Array = np.zeros((3, 64), "u8")


@pytest.fixture(scope="module")
def compiler(tmp_path_factory: pytest.TempPathFactory) -> Compiler:
    return Compiler.of_this_run(tmp_path_factory)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("v_qsad_pk_u16_u8 v[8:9], v[2:3], v4, v[6:7]", r"`v_qsad_pk_u16_u8 .*` at 0x7f10.*: .* not known"),
        (
            "global_load_dword v8, v[2:3], off",
            r"`global_load_dword .*` at 0x7f10.*: reads 4 bytes at 0x0, .*outside",
        ),
        ("global_store_byte v[2:3], v8, off offset:16", r"writes 1 bytes at 0x10, .*outside"),
        ("s_mov_b32 s2, 0x10000\n v_mov_b32 v6, s2\n ds_read_b32 v8, v6", r"`ds_read_b32 .*of LDS, outside"),
        ("s_trap 2", r"`s_trap 2` at .*: the kernel stopped itself"),
        ("s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 2), 3", "only rounding to the nearest"),
    ],
)
def test_the_instruction_is_named(line: str, message: str, compiler: Compiler) -> None:
    with pytest.raises(EmulationError, match=message):
        results(assemble(compiler, "gfx942", [line]), _SOURCES, 1)


def test_an_endless_loop_ends_in_time(compiler: Compiler) -> None:
    code = assemble(compiler, "gfx942", ["forever: s_branch forever"])
    arrays = (_SOURCES, np.zeros(64, "u8"))
    with pytest.raises(EmulationTimeoutError, match=r"`s_branch .*` at 0x7f10"):
        launch(code, "instructions", arrays, groups=1, block=64, options=Options(timeout_s=0.2))


def test_code_of_another_chip_is_refused(compiler: Compiler) -> None:
    image = compiler.compile_file(
        Path(__file__).parent / "kernels" / "arithmetic.hip", "gfx906"
    ).path.read_bytes()
    with pytest.raises(NotSupportedError, match="is made for gfx906"):
        load_code(image, 0x10000)


def test_truncated_code_is_refused(compiler: Compiler) -> None:
    image = assemble(compiler, "gfx942", ["s_nop 0"]).image
    for size in (10, 100, len(image) // 2):
        with pytest.raises(InputError):
            load_code(image[:size], 0x10000)


def _count(compiler: Compiler, lines: list[str], mnemonic: str) -> InstructionCount:
    code = assemble(compiler, "gfx942", lines)
    arrays = (_SOURCES, np.zeros((len(lines), 64), "u8"))
    options = Options(counting=True, threads=1)
    answer = launch(code, "instructions", arrays, groups=1, block=64, options=options).answer
    line = next(line for line in code.listing.splitlines() if line.startswith(f"\t{mnemonic}"))
    address = re.search(r"// ([0-9A-F]+):", line)
    assert address
    return next(count for count in answer.counts if count.address == int(address[1], 16))


@pytest.mark.parametrize(("stride", "cycles"), [(4, 2), (8, 4), (16, 8), (0, 2)])
def test_planted_bank_conflicts(stride: int, cycles: int, compiler: Compiler) -> None:
    lines = [f"v_mul_u32_u24 v12, {stride}, v11\n ds_write_b32 v12, v2"]
    count = _count(compiler, lines, "ds_write_b32")
    assert (count.executions, count.lanes, count.bytes) == (1, 64, 256)
    assert (count.lds_cycles, count.lds_conflicts) == (cycles, max(0, cycles - 2))


@pytest.mark.parametrize(("shift", "lines_64", "lines_128"), [(2, 4, 2), (3, 8, 4), (0, 2, 1)])
def test_planted_strides(shift: int, lines_64: int, lines_128: int, compiler: Compiler) -> None:
    text = [f"v_lshlrev_b32 v12, {shift}, v11\n global_load_dword v10, v12, s[4:5]\n s_waitcnt vmcnt(0)"]
    count = _count(compiler, text, "global_load_dword v10")
    assert (count.bytes, count.lines_64, count.lines_128) == (256, lines_64, lines_128)


def test_planted_contention_and_divergence(compiler: Compiler) -> None:
    lines = [
        "v_mov_b32 v12, 0\n s_mov_b64 s[8:9], exec\n s_mov_b64 exec, 0xff\n ds_add_u32 v12, v2\n s_mov_b64 exec, s[8:9]"
    ]
    count = _count(compiler, lines, "ds_add_u32")
    assert (count.lanes, count.same_address) == (8, 7)
