"""Whatever the bytes, reading gives a Part or an error with a sentence. `make fuzz` looks longer and deeper."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from rocm_perf.ingest.io.source import Source
from rocm_perf.ingest.part import Part
from rocm_perf.ingest.sniff import adapters
from tests.fuzz import corpus
from tests.fuzz.mutate import mutate
from tests.fuzz.oracle import trouble
from tests.properties import examples

SEEDS = corpus.made()

# What fuzzing found, shortened.
FOUND = (
    b"Kind,Direction,Source_Agent_Id,Destination_Agent_Id",
    b"Kind,Direction,Destination_Agent_Id,Source_Agent_Id,Start_Timestamp,End_Timestamp\n,,9223372036854775809,",
    b"Kind,Operation,Agent_Id,Queue_Id,Thread_Id",
    b"Kind,Operation,Agent_Id,Allocation_Size,Correlation_Id",
    b"Correlation_Id,Dispatch_Id,Kernel_Name,Counter_Name,Counter_Value",
    b"Correlation_Id,Dispatch_Id,Agent_Id,Kernel_Name,Counter_Name,Counter_Value,Start_Timestamp",
    b"Kind,Agent_Id,Queue_Id,Kernel_Name,Start_Timestamp,End_Timestamp",
    b"Node_Id,Agent_Type,Wave_Front_Size,Gfx_Target_Version",
    b'gpu,gfx_activity,"\n",\n\xff',
    b"timestamp,,,,utilization.gpu[%],,\n,,,,,,\n,,,,,,,",
    b'{"rocprofiler-sdk-tool":{"metadata":{"":6,"init_time":' + b"9" * 40 + b",",
)


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("any") / "input"


def _read(file: Path, data: bytes) -> None:
    file.write_bytes(data)
    error = trouble(file)
    if error:
        raise error


@pytest.mark.parametrize("data", FOUND)
def test_what_was_found_before(file: Path, data: bytes) -> None:
    _read(file, data)


def test_every_adapter_has_a_seed(file: Path) -> None:
    unfed = [adapter.name for adapter in adapters() if not corpus.claimed(SEEDS, adapter, file)]
    assert unfed == [], "add a small recording to tests/fuzz/seeds.py"


@given(data=st.binary(max_size=2000))
@examples(times=4)
def test_arbitrary_bytes(file: Path, data: bytes) -> None:
    _read(file, data)


@given(text=st.text(max_size=500))
@examples(times=2.5)
def test_arbitrary_text(file: Path, text: str) -> None:
    _read(file, text.encode("utf-8", "replace"))


@given(name=st.sampled_from(sorted(SEEDS)), number=st.integers(0, 10**6))
@examples(times=6)
def test_changed_recordings(file: Path, name: str, number: int) -> None:
    _read(file, mutate(SEEDS[name], Random(number)))


@pytest.mark.parametrize("name", SEEDS)
def test_recordings_that_were_cut_off(file: Path, name: str) -> None:
    whole = SEEDS[name]
    for share in (0.1, 0.5, 0.9):
        _read(file, whole[: int(len(whole) * share)])


def test_the_oracle_tells_a_defect_from_a_refusal(file: Path) -> None:
    def broken(source: Source) -> Part:
        raise KeyError(source.name)

    file.write_bytes(SEEDS["v3_kernels"])
    adapter = next(adapter for adapter in adapters() if adapter.name == "rocprofv3-kernel-csv")
    assert trouble(file, adapter) is None
    assert isinstance(trouble(file, replace(adapter, read=broken)), KeyError)
    file.write_bytes(b"no recording")
    assert trouble(file) is None
