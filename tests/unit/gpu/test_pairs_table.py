"""The table of pairs, made from a recording of an H200 that is in the repository."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from pathlib import Path

import pytest

import rocm_perf
from rocm_perf.errors import UsageError
from rocm_perf.model.finding import Finding
from rocm_perf.model.trace import Trace
from tests import rptrace
from tests.gpu.pairs.catalogue import PAIRS
from tests.gpu.pairs.outcome import Outcome, Walls, answers, outcome, repeated_kernels
from tests.gpu.pairs.pair import Pair, Remedy
from tests.gpu.pairs.results import append
from tests.gpu.pairs.table import markdown, outcomes, problems
from tests.unit.gpu.stand_ins import sleeping_pair

pytestmark = pytest.mark.thorough  # scripts for a machine with a GPU: slow, and seldom changed

DATA = Path(__file__).parents[2] / "data" / "h200" / "whatif"
EAGER_US, GRAPH_US = 15775.5, 1598.8  # medians of 50 without a profiler, from walls.json
GRAPHED = Walls(EAGER_US, GRAPH_US)
DECODER = sleeping_pair([], name="decoder", title="small decoder -> graph")


@pytest.fixture(scope="module")
def eager() -> Trace:
    return rocm_perf.load(DATA / "decode_free.json.gz")


def judged(claims: list[Finding], measured: Walls, projected: Walls | None = None) -> Outcome:
    return Outcome(DECODER, measured, projected, tuple(claims), judged_ns=1000, steps=10)


def claim(stake_ns: int, identity: str = "host-bound") -> Finding:
    return Finding(identity, "warning", "slow", time_at_stake_ns=stake_ns, kind="host-bound")


def test_a_saving_is_a_share() -> None:
    assert Walls(200, 150).saved == 0.25


@pytest.mark.parametrize(
    ("measured", "projected", "near"),
    [
        (0.50, 0.54, True),  # 10 % of the saving
        (0.50, 0.56, False),
        (0.50, 0.44, False),
        (0.10, 0.125, True),  # 3 % of the steady state
        (0.10, 0.14, False),
        (-0.01, 0.01, True),  # a change that costs a little
    ],
)
def test_near_is_ten_percent_of_the_saving_or_three_of_the_whole(
    measured: float, projected: float, near: bool
) -> None:
    assert judged([], Walls(1, 1 - measured), Walls(1, 1 - projected)).is_near is near


def test_no_projection_is_no_saving() -> None:
    assert judged([], Walls(100, 99)).is_near
    assert not judged([], Walls(100, 80)).is_near


def test_only_findings_with_the_pairs_remedy_can_claim_too_much() -> None:
    assert judged([claim(560)], Walls(1, 0.5)).claims_too_much
    assert not judged([claim(540)], Walls(1, 0.5)).claims_too_much
    assert not judged([claim(900, "copies")], Walls(1, 0.5)).claims_too_much


def test_a_kernels_finding_is_answered_by_its_own_kernel() -> None:
    faster = Remedy("faster", "sin_kernel")
    assert answers(faster, claim(1, "kernel-vectorized_elementwise_kernel<sin_kernel_cuda>"))
    assert not answers(faster, claim(1, "kernel-nvjet_sm90"))


def test_a_real_pair(eager: Trace) -> None:
    one = outcome(DECODER, eager, GRAPHED, factor=None)
    assert one.projected is not None
    assert one.is_near
    assert one.is_expected
    assert not one.claims_too_much
    assert outcome(replace(DECODER, kinds=("sync",)), eager, GRAPHED, None).is_expected is False
    assert outcome(DECODER, eager, Walls(EAGER_US, EAGER_US), None).claims_too_much


@pytest.mark.parametrize(
    ("remedy", "saves"),
    [
        (Remedy("faster", "nvjet"), False),  # the host is the limit
        (Remedy("fuse", "layer_norm|nvjet"), True),
        (Remedy("hoist-syncs"), False),  # there is none in the loop
        (Remedy("overlap-copies"), False),
    ],
)
def test_each_remedy_changes_the_graph(remedy: Remedy, saves: bool, eager: Trace) -> None:
    projected = outcome(replace(DECODER, remedy=remedy), eager, GRAPHED, factor=2.0).projected
    assert projected is not None
    assert (projected.saved > 0.05) is saves


def test_a_remedy_for_kernels_that_are_not_there_projects_nothing(eager: Trace) -> None:
    for remedy in (Remedy("faster", "no_such_kernel"), Remedy("fuse", "no_such_kernel")):
        assert outcome(replace(DECODER, remedy=remedy), eager, GRAPHED, factor=2.0).projected is None
    with pytest.raises(UsageError, match="no kernel matches"):
        repeated_kernels(eager, "no_such_kernel")


def test_a_recording_without_work_projects_nothing(eager: Trace) -> None:
    empty = Trace({name: eager.table(name).clear() for name in eager}, eager.run)
    assert outcome(DECODER, empty, GRAPHED, factor=None).projected is None


def test_kernels_that_follow_one_another(eager: Trace) -> None:
    names = repeated_kernels(eager, "layer_norm|nvjet|sdpa")
    assert ["layer_norm" in names[0], *(name.split("_")[0] for name in names[1:])] == [
        True, "nvjet", "cudnn", "nvjet",
    ]  # fmt: skip


def measured_folder(folder: Path, pair: Pair, **truth: object) -> Path:
    """What measure.py leaves, with a real recording."""
    facts = {"medians_us": [EAGER_US, GRAPH_US], "factor": None, "same": True, **truth}
    append(folder / "pairs.jsonl", {"pair": pair.name, "part": "truth", **facts})
    kept = f"{pair.name}.pt.trace.json.gz"
    (folder / kept).write_bytes((DATA / "decode_free.json.gz").read_bytes())
    append(folder / "pairs.jsonl", {"pair": pair.name, "part": "torch", "file": kept})
    return folder


def test_the_table(tmp_path: Path) -> None:
    text = markdown(list(outcomes([DECODER], measured_folder(tmp_path, DECODER))))
    rows = [line for line in text.splitlines() if line.startswith("| small decoder")]
    cells = [cell.strip() for cell in rows[0].strip("|").split("|")]
    assert cells[:3] == ["small decoder -> graph", "torch", "15.78 -> 1.60 ms"]
    # Of 48 layers; one is warm-up, and one ends with the recording.
    assert cells[3].endswith(" ms, 46 steps")
    assert cells[4].startswith("89.9 %, ")
    assert cells[5:7] == ["yes", "host-bound"]
    assert text.splitlines()[-1].startswith("Of 1 recordings, 1 project what was measured")
    assert len({line.count("|") for line in text.splitlines() if line.startswith("|")}) == 1


def test_what_is_wrong_stands_out(tmp_path: Path) -> None:
    pair = replace(DECODER, kinds=("copies",))
    folder = measured_folder(tmp_path, pair, medians_us=[100, 99], same=False)
    row = markdown(list(outcomes([pair], folder))).splitlines()[2]
    assert "| **no** | **host-bound**, not copies | **8" in row
    append(folder / "pairs.jsonl", {"pair": "decoder", "part": "cupti", "error": "exit code 4"})
    append(folder / "pairs.jsonl", {"pair": "decoder", "part": "torch", "error": "the second time"})
    assert problems(folder / "pairs.jsonl") == [
        "decoder, cupti: exit code 4",
        "decoder: the variants compute different results",
    ]


def test_steps_that_were_not_found_stand_out() -> None:
    one = replace(judged([], Walls(2, 1), Walls(2e6, 1e6)), steps=0)
    assert "| 2.0 -> 1.0 ms, **no steps found** |" in markdown([("cupti", one)])


def test_pairs_that_were_not_measured_are_left_out(tmp_path: Path) -> None:
    folder = measured_folder(tmp_path, DECODER)
    assert len(list(outcomes([sleeping_pair([]), DECODER], folder))) == 1


def test_a_compressed_file_of_our_tracer_is_read(tmp_path: Path) -> None:
    kept = tmp_path / "pair.rptrace.gz"
    kept.write_bytes(gzip.compress(rptrace.small()))
    assert rocm_perf.load(kept).rows("dispatches") == 2


def test_the_medians_are_those_of_the_recorded_pair() -> None:
    walls = json.loads((DATA / "walls.json").read_text())["walls"]
    middle = [sorted(walls[name]["plain_us"])[24:26] for name in ("decode_free", "decode_graph")]
    assert [round(sum(both) / 2, 1) for both in middle] == [EAGER_US, GRAPH_US]


# What contention adds (a scan beside kernels that fill the memory), what CUPTI adds to a product in torch, and a host
# that was faster (a pageable copy) in the process that was recorded than in those that were measured.
MISSED = {
    *(("scan_events", recorder) for recorder in ("cupti", "torch")),
    ("short_products_sync", "cupti"),
    ("pageable_copies", "cupti"),
}


def test_the_pairs_of_the_h200_project_what_was_measured() -> None:
    recorded = list(outcomes(PAIRS, DATA.parent / "pairs"))
    assert len(recorded) == 2 * len(PAIRS)
    assert {(one.pair.name, recorder) for recorder, one in recorded if not one.is_near} <= MISSED
    assert not any(one.claims_too_much for _, one in recorded)
    assert all(one.is_expected and one.steps for _, one in recorded), markdown(recorded)
