"""rocprofv3 PC samples in CSV."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocm_perf.errors import EmptyCaptureError, InputError
from rocm_perf.ingest.io.source import Source
from rocm_perf.ingest.peek import Peek
from rocm_perf.ingest.rocprofv3 import pc_sampling as v3_pc_sampling

HEADER = '"Sample_Timestamp","Exec_Mask","Dispatch_Id","Instruction","Instruction_Comment","Correlation_Id"'
HOST_TRAP = HEADER + '\n9007199254740993,18446744073709551615,3,"v_add_f32 v0, v1","",4\n'
REASON = "ROCPROFILER_PC_SAMPLING_INSTRUCTION_NOT_ISSUED_REASON_WAITCNT"
TYPE = "ROCPROFILER_PC_SAMPLING_INSTRUCTION_TYPE"
STOCHASTIC = (
    HEADER + ',"Wave_Issued_Instruction","Instruction_Type","Stall_Reason","Wave_Count"\n'
    f'10,1,3,"s_waitcnt","a.cpp:5",4,0,"{TYPE}_NO_INST","{REASON}",6\n'
    f'11,1,3,"v_add","a.cpp:6",4,1,"{TYPE}_VALU","{REASON}",6\n'
)


def _table(folder: Path, text: str) -> pl.DataFrame:
    file = folder / "samples"
    file.write_text(text)
    source = Source(file)
    assert v3_pc_sampling.ADAPTERS[0].claims(Peek(source))
    return v3_pc_sampling.read_samples(source).tables["pc_samples"]


def test_host_trap_samples(tmp_path: Path) -> None:
    row = _table(tmp_path, HOST_TRAP).row(0, named=True)
    assert (row["time_ns"], row["exec_mask"]) == (9007199254740993, 2**64 - 1)
    assert (row["dispatch_id"], row["correlation_id"], row["method"]) == (3, 4, "host_trap")
    assert (row["instruction"], row["source"], row["issued"]) == ("v_add_f32 v0, v1", None, None)


def test_stochastic_samples_tell_stalls_from_issues(tmp_path: Path) -> None:
    stalled, issued = _table(tmp_path, STOCHASTIC).rows(named=True)
    assert (stalled["issued"], stalled["stall_reason"], stalled["instruction_type"]) == (
        False,
        "WAITCNT",
        "NO_INST",
    )
    assert (issued["issued"], issued["stall_reason"], issued["instruction_type"]) == (True, None, "VALU")
    assert (stalled["wave_count"], stalled["method"]) == (6, "stochastic")


def test_a_header_alone_is_an_empty_capture(tmp_path: Path) -> None:
    with pytest.raises(EmptyCaptureError, match="no samples"):
        _table(tmp_path, HEADER + "\n")


@given(
    cut=st.integers(0, len(STOCHASTIC)),
    at=st.integers(0, len(STOCHASTIC) - 1),
    letter=st.characters(codec="utf-8"),
)
def test_damage_gives_a_part_or_a_sentence(
    tmp_path_factory: pytest.TempPathFactory, cut: int, at: int, letter: str
) -> None:
    file = tmp_path_factory.mktemp("pc") / "samples"
    for text in (STOCHASTIC[:cut], STOCHASTIC[:at] + letter + STOCHASTIC[at + 1 :]):
        file.write_bytes(text.encode())
        source = Source(file)
        if not v3_pc_sampling.ADAPTERS[0].claims(Peek(source)):
            continue
        with suppress(InputError, EmptyCaptureError):
            v3_pc_sampling.read_samples(source)


@pytest.mark.parametrize(
    ("name", "rows", "method"),
    [
        (
            "pc_sampling/doplxyz_rdna4-gfx1201-tooling-verification__o_10000_44_pc_sampling_host_trap.csv",
            1091,
            "host_trap",
        ),
        (
            "pc_sampling/doplxyz_rdna4-gfx1201-tooling-verification__r2_724_pcs_512_first200rows.csv",
            200,
            "host_trap",
        ),
        ("rocprofv3_csv/ROCm_rocm-systems__docs_pc_sampling_host_trap.csv", 79, "host_trap"),
        ("rocprofv3_csv/ROCm_rocm-systems__docs_pc_sampling_host_trap_debug.csv", 21, "host_trap"),
        ("rocprofv3_csv/ROCm_rocm-systems__docs_pc_sampling_stochastic_debug.csv", 97, "stochastic"),
    ],
)
def test_the_specimens(specimens: Path, name: str, rows: int, method: str) -> None:
    part = v3_pc_sampling.read_samples(Source(specimens / name))
    table = part.tables["pc_samples"]
    assert (table.height, table["method"].unique().to_list(), part.losses) == (rows, [method], ())
    assert table["exec_mask"].null_count() == 0


def test_the_stochastic_specimen_agrees_with_the_file(specimens: Path) -> None:
    file = specimens / "rocprofv3_csv" / "ROCm_rocm-systems__docs_pc_sampling_stochastic_debug.csv"
    table = v3_pc_sampling.read_samples(Source(file)).tables["pc_samples"]
    plain = pl.read_csv(file, infer_schema=False)
    assert table["issued"].sum() == (plain["Wave_Issued_Instruction"] == "1").sum()
    assert table["stall_reason"].null_count() == table["issued"].sum()
    assert table.row(0, named=True)["time_ns"] == 390705261841337
