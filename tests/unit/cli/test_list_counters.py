"""`rocm-perf list-counters` as a user meets it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from rocm_perf.backends.machine import Machine
from rocm_perf.cli.main import main
from rocm_perf.collect.request.counter_files import read_input_file
from tests.unit.backends.machines import amd


def lines(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[str]:
    assert main(["list-counters", *arguments]) == 0
    return [line.rstrip() for line in capsys.readouterr().out.splitlines()]


@pytest.mark.parametrize("columns", [80, 160])
def test_blocks_with_their_slots_and_one_line_a_counter(
    columns: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    out = lines(capsys, "--arch", "gfx942")
    assert out[0] == "gfx942: 265 hardware counters, 154 derived (as defined by ROCm 7.0)"
    assert "SQ  instructions, waves, LDS, 8 per pass" in out
    assert "TCC  L2 cache, 4 per pass" in out
    assert max(len(line) for line in out) <= columns
    assert len(out) == 1 + 265 + 154 + 2 * 11  # ten blocks and the derived: a blank line and a title each
    waves = next(line for line in out if line.startswith("SQ_WAVES "))
    assert "Count number of waves" in waves


def test_search_looks_into_names_and_descriptions_and_shows_formulas(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "160")
    out = lines(capsys, "--arch", "gfx90a", "--search", "l2cacheHIT")
    assert any(
        "= 100*reduce(TCC_HIT,sum) / (reduce(TCC_HIT,sum) + " in line.replace("\u00a0", " ") for line in out
    )
    assert any(
        "FETCH_SIZE" in line for line in lines(capsys, "--arch", "gfx942", "--search", "kilobytes fetched")
    )


def test_hardware_or_derived(capsys: pytest.CaptureFixture[str]) -> None:
    hardware = lines(capsys, "--arch", "gfx1100", "--search", "GL2C_HIT", "--hardware")
    derived = lines(capsys, "--arch", "gfx1100", "--search", "GL2C_HIT", "--derived")
    assert any(line.startswith("GL2C_HIT ") for line in hardware)
    assert not any(line.startswith("GL2C_HIT_sum") for line in hardware)
    assert any(line.startswith("GL2C_HIT_sum") for line in derived)
    assert not any(line.startswith("GL2C_HIT ") for line in derived)
    with pytest.raises(SystemExit, match="2"):
        main(["list-counters", "--arch", "gfx942", "--hardware", "--derived"])


@pytest.mark.parametrize(
    ("gfx", "search", "says"),
    [
        ("gfx942", "L2CacheMiss", "L2CacheMiss on gfx942 is TCC_MISS_sum: "),
        ("gfx942", "SQ_WAVS", "no counter matches 'SQ_WAVS'; similar names: SQ_WAVES"),
        ("gfx942", "zzzz", "no counter matches 'zzzz'"),
        ("gfx1100", "SQ_INSTS_VALU_ADD_F32", "does not exist on gfx1100: it does on gfx90a"),
    ],
)
def test_a_name_that_is_not_there(
    gfx: str, search: str, says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert says in lines(capsys, "--arch", gfx, "--search", search)[-1]


def test_a_chip_without_definitions_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    out = " ".join(lines(capsys, "--arch", "gfx1151", "--rocm", "7.0"))
    assert "gfx1151 has none in ROCm 6.3 to 7.0; 7.2 brings them: ask the machine" in out
    assert "may differ" in " ".join(lines(capsys, "--arch", "gfx1151", "--rocm", "7.2"))


def test_the_release_of_this_machine_decides(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = ["list-counters", "--arch", "gfx1151", "--sets", "--write", str(tmp_path / "sets")]
    monkeypatch.setenv("ROCM_PATH", str(installed(tmp_path, "6.4.1-83")))
    assert main(asked) == 2
    message = capsys.readouterr().err
    assert "there is nothing to write: gfx1151 has none in ROCm 6.3 to 7.0; 7.2 brings them" in message
    assert "This is about ROCm 6.4.1; --rocm names another release." in message
    monkeypatch.setenv("ROCM_PATH", str(installed(tmp_path, "7.2.4-10")))
    assert main(asked) == 0
    written = tmp_path / "sets" / "counters_basic.txt"
    assert {"SQ_WAIT_INST_LDS", "GL2C_HIT_sum"} <= {
        name for group in read_input_file(written).passes for name in group
    }
    assert "which may differ: ask the machine itself" in written.read_text()


def installed(folder: Path, release: str) -> Path:
    """A ROCm of this release, as far as its version says."""
    rocm = folder / release
    (rocm / ".info").mkdir(parents=True)
    (rocm / ".info" / "version").write_text(f"{release}\n")
    return rocm


def test_without_a_rocm_here_the_newest_known_release_counts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rocm_perf.backends.probe.rocm_here", lambda _environment: "")
    assert main(["list-counters", "--arch", "gfx1151", "--sets", "--write", str(tmp_path)]) == 0
    assert "wrote 10 files" in capsys.readouterr().err


def test_unknown_chip_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list-counters", "--arch", "gfx9420"]) == 2
    message = capsys.readouterr().err
    assert message.startswith(
        "rocm-perf: no counters are known for 'gfx9420': the nearest name is gfx942. Known: gfx9"
    )
    assert message.count("\n") == 1
    assert main(["list-counters", "--arch", "gfx942", "--rocm", "latest"]) == 2
    assert "'latest' is not a ROCm release" in capsys.readouterr().err


def test_json_is_complete(capsys: pytest.CaptureFixture[str]) -> None:
    document = json.loads(
        "\n".join(lines(capsys, "--arch", "gfx1151", "--rocm", "7.2", "--search", "SIZE", "--json"))
    )
    assert (document["schema_version"], document["gfx"], document["rocm"]) == (1, "gfx1151", "7.0")
    assert "may differ" in document["note"]
    write = next(counter for counter in document["counters"] if counter["name"] == "WRITE_SIZE")
    assert write["hardware_counters"] == ["GL2C_EA_WRREQ_64B", "GL2C_MC_WRREQ"]
    assert write["expression"].startswith("((GL2C_MC_WRREQ_sum-")
    assert (write["block"], write["releases"]) == (None, ["6.3", "7.0"])
    document = json.loads("\n".join(lines(capsys, "--arch", "gfx942", "--search", "L2CacheMiss", "--json")))
    assert document["meaning"].startswith("L2CacheMiss on gfx942 is TCC_MISS_sum")


def test_a_plan_says_how_often_the_application_runs(capsys: pytest.CaptureFixture[str]) -> None:
    out = lines(capsys, "--arch", "gfx942", "--plan", "compute_bound")
    assert out[0] == "4 passes on gfx942: the application runs 4 times"
    assert sum(line.startswith("pmc: ") for line in out) == 4


def test_a_plan_says_what_stands_in_for_a_name(capsys: pytest.CaptureFixture[str]) -> None:
    out = lines(capsys, "--arch", "gfx942", "--plan", "memory_bound")
    assert any(line.startswith("L2CacheHit on gfx942 is TCC_HIT_sum and TCC_MISS_sum") for line in out)


def test_a_plan_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    plan = json.loads("\n".join(lines(capsys, "--arch", "gfx942", "--plan", "l2_hit_rate", "--json")))["plan"]
    assert plan["passes"][0]["ask"] == ["TCC_HIT_sum", "TCC_MISS_sum"]
    assert plan["fewest"] is True


def test_a_plan_with_nothing_to_count_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list-counters", "--arch", "gfx1151", "--rocm", "7.0", "--plan", "compute_bound"]) == 2
    message = capsys.readouterr().err
    assert message.startswith("rocm-perf: none of compute_bound can be counted on gfx1151")
    assert "--rocm names another release" in message
    assert message.count("\n") == 1


def test_a_typo_in_a_plan_names_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list-counters", "--arch", "gfx942", "--plan", "TCC_HITS_sum"]) == 2
    assert "similar names: TCC_HIT_sum" in capsys.readouterr().err


def test_sets_are_listed_and_written_as_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = lines(capsys, "--arch", "gfx942", "--sets")
    assert out[0] == "sets of counters on gfx942 (as defined by ROCm 7.0)"
    assert "memory_bound: is it limited by the caches or the memory? (5 passes)" in out
    assert lines(capsys, "--arch", "gfx942", "--sets", "--write", str(tmp_path)) == []
    passes = read_input_file(tmp_path / "memory_bound.txt").passes
    assert len(passes) == 5
    assert any("TCC_BUBBLE_sum" in names for names in passes)
    assert main(["list-counters", "--arch", "gfx942", "--sets", "--write", str(tmp_path)]) == 2
    assert main(["list-counters", "--arch", "gfx942", "--sets", "--write", str(tmp_path), "--force"]) == 0
    assert main(["list-counters", "--arch", "gfx942", "--write", str(tmp_path)]) == 2


def test_a_set_may_be_named_as_its_file(capsys: pytest.CaptureFixture[str]) -> None:
    plain = lines(capsys, "--arch", "gfx942", "--plan", "compute_bound")
    assert lines(capsys, "--arch", "gfx942", "--plan", "compute_bound.txt") == plain


def test_without_a_chip_it_is_about_the_gpu_that_is_here(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rocm_perf.backends.probe.probe_machine", lambda: amd(gfx="gfx90a"))
    assert lines(capsys)[0].startswith("gfx90a: ")
    monkeypatch.setattr("rocm_perf.backends.probe.probe_machine", lambda: Machine(host="here"))
    assert main(["list-counters"]) == 2
    assert "Name a chip: --arch gfx942" in capsys.readouterr().err


def test_derived_counters_come_first(capsys: pytest.CaptureFixture[str]) -> None:
    titles = [
        line for line in lines(capsys, "--arch", "gfx942") if line.startswith(("derived  ", "SQ  ", "TCC  "))
    ]
    assert titles[0].startswith("derived")


def test_presets_say_which_overhead_to_expect(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["presets"]) == 0
    out = capsys.readouterr().out
    assert re.search(r"^lightweight +low ", out, re.MULTILINE)
    assert re.search(r"^full +high ", out, re.MULTILINE)
    assert "not a measured one" in out
