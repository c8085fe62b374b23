"""What two sides ran on: said first where it differs, since no change of the program explains it."""

from __future__ import annotations

from msgspec.structs import replace

from rocm_perf.analysis.compare.populations import compare
from rocm_perf.analysis.compare.runs import Recording
from rocm_perf.model.results.comparison import Comparison
from rocm_perf.render.sections.comparison import headline
from tests.unit.analysis.traces import kernel, trace


def run(gpu: str | None = None, ranks: int | None = None, *software: str, gfx: str = "gfx942") -> Recording:
    recording = trace(
        dispatches=[kernel("a", 0, 100), kernel("b", 150, 200)],
        agents=[
            {"agent_id": 0, "kind": "GPU", "name": gpu, "gfx": gfx},
            {"agent_id": 1, "kind": "GPU", "name": "idle one"},
        ],
    )
    facts = replace(recording.run, world_size=ranks, software=software)
    return Recording("run", recording.described(facts))


def compared(base: Recording, new: Recording) -> Comparison:
    return compare([base], [new])


def test_other_gpus_ranks_and_runtimes_are_the_first_thing_said() -> None:
    comparison = compared(run("One", 8, "HIP runtime 6"), run("Two", 2, "HIP runtime 7"))
    assert comparison.setting == (
        "different GPUs: One -> Two; different numbers of ranks: 8 -> 2; "
        "different runtimes: HIP runtime 6 -> HIP runtime 7"
    )
    assert headline(comparison).startswith(f"The sides ran on {comparison.setting}.")


def test_what_one_side_does_not_record_is_not_a_difference() -> None:
    assert compared(run("One", 8, "HIP runtime 6"), run("One")).setting is None


def test_a_gpu_without_a_name_is_known_by_its_architecture() -> None:
    assert compared(run(), run("Two")).setting is None
    assert compared(run(), run("Two", gfx="gfx950")).setting == "different GPUs: gfx942 -> gfx950"
