"""The parts of an emulated replay that need no emulator: what is refused, where things lie, which workgroups run."""

from __future__ import annotations

import pytest

from rocm_perf.cli.main import main
from rocm_perf.errors import NotSupportedError
from rocm_perf.replay.counted import sample
from rocm_perf.replay.emulated import workgroups_of
from rocm_perf.replay.snapshot import Snapshot


def test_times_are_never_emulated(made: Snapshot, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["replay", "full-vm", str(made.folder), "--emulate"]) == 2
    assert "full-vm cannot emulate: emulation has no times" in capsys.readouterr().err


@pytest.mark.parametrize("words", [("replay", "verify", "--emulate"), ("count",)])
def test_only_amd_kernels_are_emulated(
    made: Snapshot, capsys: pytest.CaptureFixture[str], words: tuple[str, ...]
) -> None:
    assert main([*words, str(made.folder)]) == NotSupportedError.exit_code
    error = capsys.readouterr().err
    assert error.startswith("rocm-perf: only AMD kernels can be emulated: this is one of NVIDIA")
    assert error.count("\n") == 1


@pytest.mark.parametrize("text", ["83", "us", "-1us", "0us", "1e999s", "83 parsecs"])
def test_a_time_needs_a_unit(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["count", "snap", "--time", text])
    assert "--time" in capsys.readouterr().err


def test_a_sample_is_spread_evenly_over_the_grid() -> None:
    numbers = [some.start for some in sample(100, 60)]
    assert len(numbers) == len(set(numbers)) == 60
    assert (numbers[0], numbers[-1]) == (0, 99)
    assert [some.start for some in sample(8, 2)] == [2, 6]
    assert sample(8, 8) == sample(8, 9) == sample(8, None) == ()


def test_workgroups_at_the_edge_count() -> None:
    assert workgroups_of((100, 7, 1), (64, 4, 1)) == 4
