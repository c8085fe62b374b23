"""Configuration files of benchmark runners."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rocm_perf.collect.plan.plan import plans
from rocm_perf.collect.request.configuration import (
    Configured,
    configuration_text,
    configured,
    read_configuration,
)
from rocm_perf.collect.request.request import Request
from rocm_perf.errors import InputError, RocmPerfError, UsageError
from tests.unit.backends.machines import amd

EXAMPLES = Path(__file__).parents[4] / "examples" / "profiling-configs"
WRAPPER = "bash ../scripts/common/tools/rocprof_wrapper.sh"


def of(**fields: Any) -> Configured:
    return configured(*read_configuration(json.dumps(fields), "inline"))


def tool(name: str, cmd: str = "", **variables: object) -> dict[str, Any]:
    return {"name": name, "cmd": cmd, "env_vars": variables}


def test_tools_become_presets_samplers_and_library_traces() -> None:
    names = ("rocprofv3_compute", "gpu_info_power_profiler", "gpu_info_vram_profiler", "miopen_trace")
    found = of(tools=[tool(name) for name in names])
    assert found.preset == "compute"
    assert found.counters == ("compute_bound",)
    assert found.wish.domains == ("kernel", "hip")
    assert found.sampling.metrics == ("power", "memory")
    assert found.library_trace


def test_several_profilers_are_one_recording() -> None:
    found = of(tools=[tool("rocprofv3_compute"), tool("rocprofv3_memory"), tool("rocprof")])
    assert found.preset == "compute+memory+runtime"
    assert found.counters == ("compute_bound", "memory_bound")
    assert set(found.wish.domains) == {"kernel", "hip", "copy", "allocation", "scratch", "marker", "rccl"}


@pytest.mark.parametrize("end", ["", " --"])
def test_a_wrapper_is_its_flags(end: str) -> None:
    flags = "--hip-trace --memory-copy-trace -i ../counters/memory_bound.txt --output-format pftrace -d ./out"
    found = of(tools=[tool("rocprofv3_full", f"{WRAPPER} {flags}{end}")])
    assert found.wish.domains == ("hip", "copy")
    assert found.wish.formats == ("pftrace",)
    assert found.counters == ("memory_bound",)
    assert found.notices == ("rocprofv3_full: -d ./out is not used: -d or -o of `profile` says where",)


def test_flags_that_nobody_knows_are_left_out_in_words() -> None:
    found = of(
        tools=[tool("rocprofv3_perfetto", f"{WRAPPER} --hip-trace --perfetto-trace-filename x.pftrace --")]
    )
    assert found.wish.domains == ("hip",)
    assert "--perfetto-trace-filename x.pftrace" in found.notices[0]


def test_environment() -> None:
    found = of(
        env_vars={"OMP_NUM_THREADS": 8, "DEBUG": True},
        tools=[tool("rocprofv3_full", RCCL_DEBUG="INFO", HSA_ENABLE_SDMA="0")],
    )
    assert found.environment["OMP_NUM_THREADS"] == "8"
    assert found.environment["DEBUG"] == "1"
    assert found.environment["NCCL_DEBUG"] == "INFO"
    assert any("NCCL_DEBUG" in notice for notice in found.notices)
    assert any("HSA_ENABLE_SDMA" in notice for notice in found.notices)


def test_samplers_keep_their_settings_to_themselves() -> None:
    found = of(tools=[tool("gpu_info_power_profiler", POWER_SAMPLING_RATE="0.25", POWER_DEVICE="all")])
    assert found.sampling.interval_s == 0.25
    assert found.environment == {}


def test_launchers_and_slurm_are_kept() -> None:
    text = json.dumps(
        {"slurm": {"nodes": 2, "time": "02:00:00"}, "distributed": {"launcher": "torchrun"}, "debug": 1}
    )
    configuration, unused = read_configuration(text, "x")
    assert configuration.slurm is not None
    assert (configuration.slurm.nodes, configuration.slurm.time) == (2, "02:00:00")
    assert configuration.distributed is not None
    assert configuration.distributed.launcher == "torchrun"
    assert unused == ("slurm", "distributed", "debug")


def test_the_literal_of_a_dictionary_is_taken_too() -> None:
    configuration, _ = read_configuration("{'gpu_vendor': 'AMD', 'tools': [{'name': 'rocprof'}]}", "inline")
    assert configuration.tools[0].name == "rocprof"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "not valid JSON"),
        ("{[]: 1}", "not valid JSON"),  # a literal that cannot be evaluated
        ("[1]", "one JSON object"),
        ('{"tools": {"name": "x"}}', r"\$\.tools"),
        ('{"tools": [{"name": 5}]}', r"\$\.tools\[0\]\.name"),
        ('{"slurm": {"nodes": "two"}}', r"\$\.slurm\.nodes"),
        ('{"env_vars": {"A": []}}', r"\$\.env_vars"),
        ('{"tools": [{"name": "rocprofv3_compte"}]}', "the nearest is rocprofv3_compute"),
        (
            '{"tools": [{"name": "gpu_info_power_profiler", "env_vars": {"POWER_SAMPLING_RATE": "x"}}]}',
            "rate",
        ),
        ('{"tools": [{"name": "rocprof", "cmd": "w.sh --output-format weird --"}]}', "weird"),
        ('{"tools": [{"name": "rocprof", "cmd": "w.sh \'--"}]}', "cmd of rocprof"),
    ],
)
def test_a_wrong_configuration_is_one_line(text: str, words: str) -> None:
    with pytest.raises(UsageError, match=words) as error:
        configured(*read_configuration(text, "x.json"))
    assert len(str(error.value).splitlines()) == 1


@pytest.mark.parametrize("name", sorted(path.name for path in EXAMPLES.glob("*.json")))
def test_the_examples_plan_on_an_mi300x(name: str) -> None:
    found = configured(*read_configuration(configuration_text(EXAMPLES / name), name))
    (unused,) = found.notices
    assert unused.startswith("not used here: ")
    assert "tools" not in unused
    request = Request(
        command=("./app",), wish=found.wish, counters=found.counters, counter_passes=found.counter_passes
    )
    first, *_ = plans(request, amd(), Path("/out"))
    assert first.profiler == "rocprofv3"
    assert not first.could_not


def test_all_six_examples_are_there() -> None:
    assert len(list(EXAMPLES.glob("rocprofv3_*.json"))) == 6


def test_the_old_name_of_the_multi_node_example() -> None:
    assert "slurm" in configuration_text(EXAMPLES / "rocprofv3_multinode.json")
    with pytest.raises(InputError, match="cannot read"):
        configuration_text(EXAMPLES / "none.json")


def test_deep_nonsense_is_refused() -> None:
    with pytest.raises(RocmPerfError):
        read_configuration("[" * 100_000, "x")


def test_every_key_that_is_not_used_is_listed() -> None:
    fields = {
        "gpu_vendor": "AMD",
        "slurm": {"nodes": 2},
        "_comment": "not one",
        "tools": [{"name": "rocprofv3_compute", "overwrite": True}],
    }
    assert read_configuration(json.dumps(fields), "x")[1] == ("gpu_vendor", "slurm", "tools[0].overwrite")


@pytest.mark.parametrize("given", ["/data/out/results", "../results"])
def test_the_name_of_files_in_a_cmd_stays_in_the_runs_folder(given: str) -> None:
    """An absolute path there made rocprofv3 write where nobody looked, and the program ran a second time."""
    found = of(tools=[tool("rocprofv3_compute", f"{WRAPPER} --kernel-trace -o {given} --")])
    assert found.wish.output_name == "results"
    assert found.notices[0].startswith(f"rocprofv3_compute: -o {given} names results in the run's folder")
    plain = of(tools=[tool("rocprofv3_compute", f"{WRAPPER} --kernel-trace -o %pid% --")])
    assert (plain.wish.output_name, plain.notices) == ("%pid%", ())
