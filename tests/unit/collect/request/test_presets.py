"""Presets by name."""

from __future__ import annotations

import json
from importlib import resources
from pathlib import Path

import pytest

from rocm_perf.arch.counter_sets import counter_sets
from rocm_perf.cli.presets import PresetsCommand
from rocm_perf.collect.request.presets import preset, preset_name, presets
from rocm_perf.errors import UsageError
from tests.unit.cli.parsing import parsed


def test_every_file_is_a_preset_and_its_sets_exist() -> None:
    folder = resources.files("rocm_perf.collect.request") / "presets"
    assert {Path(entry.name).stem for entry in folder.iterdir()} == set(presets())
    assert {name for each in presets().values() for name in each.counters} <= set(counter_sets())


def test_the_ones_that_users_know() -> None:
    assert preset("lightweight").domains == ("kernel", "hip")
    assert preset("auto").domains == ("kernel", "hip", "copy", "marker")
    assert preset("compute").counters == ("compute_bound",)
    assert {"copy", "allocation"} <= set(preset("memory").domains)
    assert {"rccl", "hsa", "copy", "scratch"} <= set(preset("communication").domains)
    assert (
        preset("communication").counters == ()
    )  # one run: ranks that run together are launched once for each
    assert preset("full").stats
    assert preset("perfetto").formats == ("pftrace",)
    assert preset("pc_sampling").pc_sampling
    assert preset("att").att
    assert preset("timing").wish.domains == ()


def test_names_of_configuration_files() -> None:
    assert preset_name("rocprofv3_compute") == "compute"
    assert preset_name("rocprof_sys") == "sys"
    with pytest.raises(UsageError, match="the nearest is compute"):
        preset_name("rocprofv3_comptue")


def test_presets_lists_them(capsys: pytest.CaptureFixture[str]) -> None:
    command = PresetsCommand()
    assert command.run(parsed(command)) == 0
    text = capsys.readouterr().out
    assert all(name in text for name in presets())
    assert "counters compute_bound" in text
    assert command.run(parsed(command, "--json")) == 0
    assert json.loads(capsys.readouterr().out)["presets"]["full"]["counters"] == ["full_profile"]
