"""Text about a machine: rocminfo, counter lists, hipconfig, and help texts, which are refused."""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocm_perf.errors import EmptyCaptureError, InputError, RocmPerfError
from rocm_perf.ingest.io.source import Source
from rocm_perf.ingest.part import Part
from rocm_perf.ingest.peek import Peek
from rocm_perf.ingest.system import sysinfo
from tests.unit.ingest.damage import damaged_file

ROCMINFO = """CMD: rocminfo
\x1b[37mROCk module is loaded\x1b[0m
=====================
HSA System Attributes
=====================
Runtime Version:         1.18
==========
HSA Agents
==========
*******
Agent 1
*******
  Name:                    AMD EPYC 9474F 48-Core Processor
  Uuid:                    CPU-XX
  Marketing Name:          AMD EPYC 9474F 48-Core Processor
  Vendor Name:             CPU
  Node:                    0
  Device Type:             CPU
  Max Clock Freq. (MHz):   3600
  Compute Unit:            96
  SIMDs per CU:            0
  Pool Info:
    Pool 1
      Segment:                 GLOBAL; FLAGS: FINE GRAINED
      Size:                    1024(0x400) KB
*******
Agent 2
*******
  Name:                    gfx942
  Uuid:                    GPU-8d1457e2c20f59d2
  Marketing Name:          AMD Instinct MI300X
  Vendor Name:             AMD
  Node:                    2
  Device Type:             GPU
  Max Clock Freq. (MHz):   2100
  Compute Unit:            304
  SIMDs per CU:            4
  Wavefront Size:          64(0x40)
  Max Waves Per CU:        32(0x20)
  Pool Info:
    Pool 1
      Segment:                 GLOBAL; FLAGS: COARSE GRAINED
      Size:                    201310208(0xbffc000) KB
    Pool 2
      Segment:                 GROUP
      Size:                    64(0x40) KB
  ISA Info:
    ISA 1
      Name:                    amdgcn-amd-amdhsa--gfx942:sramecc+:xnack-
    ISA 2
      Name:                    amdgcn-amd-amdhsa--gfx9-4-generic:sramecc+:xnack-
*** Done ***
"""
AVAIL = """GPU     :\t0
Name    :\tgfx1201
configs :
   Method              :\thost_trap
   Unit                :\ttime
   Min_Interval        :\t512
   Max_Interval        :\t18446744073709551615
   Flags               :\tnone

GPU:0
Name:gfx1201
Counter_Name        :\tsimd_count
Description         :\tConstant value simd_count from agent properties

Counter_Name        :\tSQ_WAVES
Description         :\tWaves: all of them
Block               :\tSQ
Dimensions          :\tDIMENSION_INSTANCE[0:0]

Counter_Name        :\tWavefronts
Description         :\tTotal wavefronts.
Expression          :\treduce(SQ_WAVES,sum)
"""
BASIC = """RPL: on '230101' from '/opt/rocm'
Basic HW counters:

  gpu-agent0 : TCC_HIT[0-15] : Number of cache hits.
      block TCC can only handle 4 counters at a time

  gpu-agent1 : TCC_HIT[0-15] : Number of cache hits.
      block TCC can only handle 4 counters at a time

Derived metrics:

  gpu-agent0 : TCC_HIT_sum : Number of cache hits. Sum over TCC instances.
      TCC_HIT_sum = sum(TCC_HIT,16)
"""
HIPCONFIG = """HIP version: 7.12.60610-2bd1678d3d

==hipconfig
HIP_PATH           :/opt/rocm
HIP_PLATFORM       :amd

Linux box 6.14.0-1018-oem #18-Ubuntu SMP x86_64
"""
HELP = """===== rocprofv3: rocprofv3 --version =====
             version: 1.2.0

usage: rocprofv3 [options] -- <application>
"""
ALL = {"rocminfo": ROCMINFO, "avail": AVAIL, "basic": BASIC, "hipconfig": HIPCONFIG, "help": HELP}


def _source(folder: Path, text: str) -> Source:
    file = folder / "anything.dat"
    file.write_text(text, encoding="utf-8")
    return Source(file)


def _read(source: Source) -> Part:
    peek = Peek(source)
    return next(adapter for adapter in sysinfo.ADAPTERS if adapter.claims(peek)).read(source)


def test_rocminfo_numbers_agents_by_node(tmp_path: Path) -> None:
    cpu, gpu = _read(_source(tmp_path, ROCMINFO)).tables["agents"].rows(named=True)
    assert (cpu["agent_id"], cpu["kind"], cpu["cu_count"], cpu["uuid"], cpu["memory_bytes"]) == (
        0,
        "CPU",
        None,
        None,
        1 << 20,
    )
    assert (gpu["agent_id"], gpu["kind"], gpu["gfx"], gpu["name"]) == (
        2,
        "GPU",
        "gfx942",
        "AMD Instinct MI300X",
    )
    assert (gpu["cu_count"], gpu["simd_count"], gpu["wave_size"], gpu["max_waves_per_simd"]) == (
        304,
        1216,
        64,
        8,
    )
    assert (gpu["lds_bytes"], gpu["memory_bytes"], gpu["clock_mhz"]) == (65536, 201310208 * 1024, 2100.0)
    assert (gpu["uuid"], gpu["logical_index"]) == ("GPU-8d1457e2c20f59d2", 0)


def test_rocminfo_cut_off_inside_an_agent(tmp_path: Path) -> None:
    part = _read(_source(tmp_path, ROCMINFO[: ROCMINFO.index("  Node:                    2")]))
    assert part.tables["agents"].height == 1
    assert [loss.records for loss in part.losses] == [1]


def test_rocminfo_without_agents(tmp_path: Path) -> None:
    with pytest.raises(EmptyCaptureError):
        _read(_source(tmp_path, ROCMINFO[: ROCMINFO.index("Agent 1")]))


def test_counter_list_of_rocprofv3(tmp_path: Path) -> None:
    part = _read(_source(tmp_path, AVAIL))
    assert part.tables["counter_info"].select(
        "gfx", "counter", "block", "expression", "description", "derived"
    ).rows() == [
        ("gfx1201", "simd_count", None, None, "Constant value simd_count from agent properties", None),
        ("gfx1201", "SQ_WAVES", "SQ", None, "Waves: all of them", False),
        ("gfx1201", "Wavefronts", None, "reduce(SQ_WAVES,sum)", "Total wavefronts.", True),
    ]
    assert part.notices == (
        "gfx1201 can sample program counters: host_trap by time, interval at least 512, no upper limit",
    )


def test_counter_list_of_rocprof(tmp_path: Path) -> None:
    part = _read(_source(tmp_path, BASIC))
    assert part.tables["counter_info"].select("counter", "block", "expression", "derived").rows() == [
        ("TCC_HIT", "TCC", None, False),
        ("TCC_HIT_sum", None, "sum(TCC_HIT,16)", True),
    ]


def test_hipconfig(tmp_path: Path) -> None:
    part = _read(_source(tmp_path, HIPCONFIG))
    assert (part.tool, part.tool_version, part.host, part.os) == (
        "hipconfig",
        "7.12.60610-2bd1678d3d",
        "box",
        "Linux 6.14.0-1018-oem",
    )
    assert part.tables == {}


def test_help_is_refused_with_what_it_is(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"help text of rocprofv3 1\.2\.0"):
        _read(_source(tmp_path, HELP))


@pytest.mark.parametrize(
    "text", ["GPU time was 3 ms\n", '[{"ph": "X", "gpu": 3}]', '{"traceEvents": []}', "", "\x00\x01GPU: 0"]
)
def test_other_files_are_left_alone(tmp_path: Path, text: str) -> None:
    peek = Peek(_source(tmp_path, text))
    assert not any(adapter.claims(peek) for adapter in sysinfo.ADAPTERS)


@pytest.mark.parametrize("name", ALL)
@given(data=st.data())
def test_any_damage_gives_a_part_or_a_sentence(
    tmp_path_factory: pytest.TempPathFactory, name: str, data: st.DataObject
) -> None:
    file = damaged_file(tmp_path_factory, ALL[name].encode(), data)
    peek = Peek(Source(file))
    for adapter in sysinfo.ADAPTERS:
        if adapter.claims(peek):
            with suppress(RocmPerfError):
                adapter.read(Source(file))


@pytest.mark.parametrize("filler", ["\n", " ", "\t\n", "GPU: 1\n", "=", "A: ", '"'], ids=repr)
def test_a_file_of_nothing_but_filler_is_looked_at_quickly(tmp_path: Path, filler: str) -> None:
    source = _source(tmp_path, filler * (60_000 // len(filler)))
    for adapter in sysinfo.ADAPTERS:
        adapter.claims(Peek(source))
        if adapter.name != "amd-smi-json":
            with suppress(RocmPerfError):
                adapter.read(source)


def test_specimens_of_rocminfo_name_every_agent(specimens: Path) -> None:
    files = [
        *(specimens / "sysinfo_text").glob("*rocminfo*"),
        *(specimens / "rocprof_v1").glob("*sysinfo.txt"),
    ]
    assert len(files) == 10
    for file in files:
        text = file.read_text(errors="replace")
        agents = _read(Source(file)).tables["agents"]
        assert agents.height == len(re.findall(r"^Agent \d+", text, re.MULTILINE))
        assert agents["agent_id"].to_list() == [
            int(n) for n in re.findall(r"^  Node: +(\d+)", text, re.MULTILINE)
        ]
        assert agents.filter(pl.col("kind") == "GPU")["gfx"].null_count() == 0


def test_specimen_of_eight_mi300x(specimens: Path) -> None:
    agents = _read(Source(specimens / "rocprof_v1" / "gunrock_gunrock__results.sysinfo.txt")).tables["agents"]
    gpus = agents.filter(pl.col("kind") == "GPU")
    assert gpus["agent_id"].to_list() == list(range(2, 10))
    assert set(gpus["cu_count"]) == {304}


def test_specimen_of_a_counter_list(specimens: Path) -> None:
    name = "doplxyz_rdna4-gfx1201-tooling-verification__listavail_724.txt"
    part = _read(Source(specimens / "sysinfo_text" / name))
    text = (specimens / "sysinfo_text" / name).read_text()
    assert part.tables["counter_info"].height == len(re.findall("^Counter_Name", text, re.MULTILINE)) == 143
    assert part.tables["counter_info"]["derived"].sum() == len(re.findall("^Expression", text, re.MULTILINE))


def test_specimen_of_help_is_refused(specimens: Path) -> None:
    with pytest.raises(InputError, match="help text"):
        _read(Source(specimens / "sysinfo_text" / "wishfine_localdoc-agent-amd-ai__rocprofiler_tools.txt"))
