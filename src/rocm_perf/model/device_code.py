"""What the machine code of a program's kernels shows. `profile` leaves it beside a recording, `analyze --code` reads it
from other files, and both become the tables `code` and `code_mix`. Each instruction counts once, however often it
runs."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
import polars as pl

from rocm_perf.model.column_kinds import count, text
from rocm_perf.model.columns import Column, TableSchema

FILE_NAME = "rocm-perf-code.json"
KIND = "rocm-perf code"
VERSION = 1

# What `dtype` says beside types.
HIGH = "high half"  # of a product of integers: what divisions by constants and prepared divisors are made of
LDS = "LDS"  # where a compare-and-swap works
INDEXED = "indexed"  # scratch at an address that is computed: an array, where a constant one may be a spill

Work = Literal[
    "multiply-add", "arithmetic", "conversion", "special", "integer", "integer division", "division", "move", "matrix",
    "load", "store", "atomic", "compare-and-swap", "scratch load", "scratch store", "LDS load", "LDS store",
    "LDS atomic", "lane exchange", "barrier", "wait", "branch", "call", "scalar", "scalar load", "other",
]  # fmt: skip

_Count = Annotated[int, msgspec.Meta(ge=0, le=1 << 50)]
_Text = Annotated[str, msgspec.Meta(max_length=1 << 18)]


class InstructionCount(msgspec.Struct, frozen=True, kw_only=True):
    """Alike instructions of one kernel in one loop, without those of the loops inside it."""

    work: _Text  # one of Work
    dtype: _Text = (
        ""  # f64, f32, f16, ...; "indexed" (scratch), "high half" (integer products), "LDS" (of a swap)
    )
    width_bytes: _Count | None = None  # that each lane moves
    loop: _Count = 0  # number of the loop in the order of the code; 0: outside of loops
    depth: _Count = 0  # loops around it
    count: _Count
    source: _Text = ""  # file:line of most of them


class KernelCode(msgspec.Struct, frozen=True, kw_only=True):
    """The machine code of one kernel for one architecture. None: the code object does not record it."""

    symbol: _Text
    name: _Text  # demangled
    arch: _Text
    file: _Text
    vgprs: _Count | None = None
    agprs: _Count | None = None
    sgprs: _Count | None = None
    vgpr_spills: _Count | None = None
    sgpr_spills: _Count | None = None
    scratch_bytes: _Count | None = None
    lds_bytes: _Count | None = None
    code_bytes: _Count | None = None
    wave_size: _Count | None = None
    largest_loop_bytes: _Count | None = None
    variants: _Count = 1  # how many different codes of this name were found; this is the newest
    unread: _Text = ""  # why its instructions are not known
    mix: tuple[InstructionCount, ...] = ()


class DeviceCode(msgspec.Struct, frozen=True, kw_only=True):
    """The file: the kernels whose code was found, and what was left out."""

    kind: str = KIND
    version: int = VERSION
    kernels: tuple[KernelCode, ...] = ()
    notices: tuple[_Text, ...] = ()


TABLES = (
    TableSchema(
        "code",
        "one kernel in a file of GPU code, as it was compiled for one architecture",
        (
            text("symbol", "name in the file, mangled", required=True),
            text("name", "the same, demangled", required=True),
            text("arch", "gfx942, sm_90, ...", required=True),
            text("file", "where the code was found"),
            count("vgprs", "vector registers of a lane (registers per thread on NVIDIA)"),
            count("agprs", "accumulation registers of a lane"),
            count("sgprs", "scalar registers of a wave"),
            count("vgpr_spills", "vector registers that the compiler moved to memory"),
            count("sgpr_spills", "scalar registers that the compiler moved elsewhere"),
            count("scratch_bytes", "scratch (local memory) of a work-item", "B"),
            count("lds_bytes", "static LDS of a workgroup", "B"),
            count("code_bytes", "machine code", "B"),
            count("wave_size", "lanes of a wave"),
            count("largest_loop_bytes", "machine code of the largest loop", "B"),
            count("variants", "different codes of this name that were found; this row is the newest"),
            text("unread", "why its instructions are not known"),
        ),
    ),
    TableSchema(
        "code_mix",
        "alike instructions of one kernel of `code` in one loop; each counts once, however often it runs",
        (
            text("symbol", "kernel: row of `code`", required=True),
            text("arch", "architecture: row of `code`", required=True),
            text("work", "what they do: multiply-add, conversion, load, scratch store, barrier, ...", required=True),
            text(
                "dtype",
                "f64, f32, f16, ...; `indexed`: scratch whose address is computed; `high half`: of an integer product; "
                "`LDS`: where a compare-and-swap works",
            ),
            count("width_bytes", "bytes that each lane moves", "B"),
            count("loop", "number of the innermost loop around them, in the order of the code; 0: none"),
            count("depth", "loops around them"),
            Column("count", pl.Int64, "instructions", required=True, limit=1 << 50),
            text("source", "file:line of most of them, where the code object has it"),
        ),
    ),
)  # fmt: skip


def tables(code: DeviceCode) -> dict[str, pl.DataFrame]:
    """Return the rows of both tables, before they are brought to their schemas."""
    kernels = [
        {
            name: getattr(kernel, name) if getattr(kernel, name) != "" else None
            for name in kernel.__struct_fields__
            if name != "mix"
        }
        for kernel in code.kernels
    ]
    mixes = [
        {
            "symbol": kernel.symbol,
            "arch": kernel.arch,
            **{
                name: getattr(row, name) if getattr(row, name) != "" else None
                for name in row.__struct_fields__
            },
        }
        for kernel in code.kernels
        for row in kernel.mix
    ]
    return {
        "code": pl.DataFrame(kernels, infer_schema_length=None),
        "code_mix": pl.DataFrame(mixes, infer_schema_length=None),
    }
