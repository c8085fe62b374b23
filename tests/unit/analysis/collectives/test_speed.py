"""Bandwidth of collectives as nccl-tests counts it, against what the links allow: examples worked out by hand."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from rocm_perf.analysis.collectives.build import communication
from rocm_perf.analysis.collectives.bus import factor
from rocm_perf.analysis.collectives.findings import communication_findings
from rocm_perf.analysis.collectives.pace import pace
from rocm_perf.analysis.collectives.sizes import many_and_small
from rocm_perf.arch.catalog import find_gpu
from rocm_perf.model.results.communication import CollectiveTotal
from rocm_perf.model.trace import Trace
from tests.unit.analysis.documents import document
from tests.unit.analysis.traces import Row, kernel, trace

REDUCE = "ncclDevKernel_Generic(ncclDevKernelArgsStorage<4096ul>)"
MI300X: Row = {"name": "AMD Instinct MI300X", "gfx": "gfx942", "cu_count": 304, "kind": "GPU"}
MS = 1_000_000


def collective(name: str, start: int, end: int, size: int | None = None, **more: object) -> Row:
    places = {"agent_id": 0, "stream_id": 1, "group": "0", "group_size": 8}
    return {"name": name, "start_ns": start, "end_ns": end, "size_bytes": size, **places, **more}


def recording(rows: Sequence[Row], agents: int = 8) -> Trace:
    """A machine of MI300X that does nothing but these collectives."""
    kernels = [
        kernel(REDUCE, int(str(row["start_ns"])), int(str(row["end_ns"])), agent_id=row["agent_id"])
        for row in rows
    ]
    gpus = [{**MI300X, "agent_id": number} for number in range(agents)]
    return trace(dispatches=kernels, collectives=rows, agents=gpus)


def only_row(*rows: Row) -> CollectiveTotal:
    (row,) = communication(recording(rows)).rows
    return row


def test_factors_of_nccl_tests() -> None:
    assert factor("all_reduce", 8) == 2 * 7 / 8
    assert factor("all_gather", 4) == factor("reduce_scatter", 4) == factor("all_to_all", 4) == 3 / 4
    assert factor("broadcast", 8) == factor("reduce", 8) == factor("send", None) == 1
    assert factor("all_reduce", None) is None
    assert factor("barrier", 8) is None


def test_an_all_reduce() -> None:
    """17,632,384 bytes in 8.932626 ms over 8 ranks: 1.974 GB/s of the algorithm, 7/4 of it on the bus."""
    row = only_row(collective("all_reduce", 0, 8_932_626, 17_632_384))
    assert row.bandwidth.value == pytest.approx(1.97393)
    assert row.bus_bandwidth.value == pytest.approx(3.45438, rel=1e-5)
    assert row.bus_bandwidth.formula == "message_bytes / transfer_ns x 2 (n - 1) / n"
    assert row.bus_bandwidth.inputs == {"message_bytes": 17_632_384, "transfer_ns": 8_932_626, "n": 8}
    assert row.link.value == 7 * 64
    assert row.pace == "slow or waiting"


def test_a_gathering_counts_what_all_ranks_give() -> None:
    """1 MB of each of 8 ranks in 1 ms: 8 GB/s, of which 7 come from others."""
    row = only_row(collective("all_gather", 0, MS, 1_000_000))
    assert (row.message_bytes, row.bandwidth.value, row.bus_bandwidth.value) == (8_000_000, 8.0, 7.0)
    known = only_row(collective("all_gather", 0, MS, 1_000_000, output_bytes=8_000_000))
    assert known.message_bytes == 8_000_000


def test_the_shortest_time_of_the_ranks_is_the_transfer() -> None:
    """Rank 0 waits 9 ms for rank 1, and the transfer takes 1 ms: 40 MB over the one link between two GPUs."""
    late = {"collective_id": 5, "group_size": 2}
    rows = [
        collective("all_reduce", 0, 10 * MS, 40_000_000, rank=0, **late),
        collective("all_reduce", 9 * MS, 10 * MS, 40_000_000, rank=1, **{**late, "agent_id": 1}),
    ]
    row = only_row(*rows)
    assert (row.total_ns, row.transfer_ns, row.ranks, row.link.value) == (11 * MS, MS, 2, 64)
    assert row.bus_bandwidth.value == 40.0  # 2 (2 - 1) / 2 is 1
    assert row.pace == "link"


def test_sizes_of_one_order_are_one_kind() -> None:
    rows = [
        collective("all_reduce", i * MS, i * MS + 1000, size) for i, size in enumerate((1024, 2000, 2048))
    ]
    small, large = sorted(communication(recording(rows)).rows, key=lambda row: row.message_bytes or 0)
    assert (small.calls, small.message_bytes, large.calls) == (2, 2000, 1)


@pytest.mark.parametrize(
    ("transfer_ns", "moved_bytes", "matched", "expected"),
    [
        (200_000, 64_000_000, True, "link"),  # 143 us of 448 GB/s
        (30_000, 1_000, False, "latency"),
        (150_000, 10_000_000, False, "mixed"),  # 22 us
        (6_800_000, 10_056_620, False, "slow or waiting"),
        (6_800_000, 10_056_620, True, "slow"),
        (6_800_000, 1_000, False, "waiting"),  # even 1 GB/s would need 1 us
    ],
)
def test_paces(transfer_ns: int, moved_bytes: int, matched: bool, expected: str) -> None:
    assert pace(transfer_ns, moved_bytes=moved_bytes, link_gbps=448, matched=matched) == expected


def test_links_by_ranks() -> None:
    """One link to each other GPU of a machine of MI300X; all links of an H200 lead to a switch."""
    amd, nvidia = find_gpu("AMD Instinct MI300X"), find_gpu("NVIDIA H200")
    assert [amd.link_limit(ranks) for ranks in (1, 2, 8, 9)] == [None, 64, 448, None]
    assert [nvidia.link_limit(ranks) for ranks in (1, 2, 8, 16)] == [None, 450, 450, None]
    assert find_gpu("AMD Radeon RX 7900 XTX").link_limit(2) is None


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ({"group_size": None}, "how many ranks took part is not recorded"),
        ({"group_size": 64}, "64 ranks are not on one machine"),
        ({"group_size": 1}, "a rank alone uses no link"),
    ],
)
def test_a_link_that_is_not_known_says_why(more: Row, reason: str) -> None:
    row = only_row(collective("all_reduce", 0, MS, 1_000_000, **more))
    assert row.link.unavailable is not None
    assert reason in row.link.unavailable
    assert row.pace is None


def test_slow_collectives_are_named_and_what_to_look_at() -> None:
    rows = [
        collective("all_reduce", 0, 9 * MS, 17_632_384),
        collective("all_reduce", 10 * MS, 17 * MS, 5_746_640),
    ]
    (finding,) = communication_findings(document(recording(rows)))
    assert finding.id == "slow-collective"
    assert finding.title == (
        "RCCL is slow: all_reduce of 16.8 MiB at 3.4 GB/s where the links allow 448, unless it waits for other ranks"
    )
    assert any("3.1 times the bytes take 1.3 times as long" in line for line in finding.evidence)
    assert "the links of a GPU to the others: 7 links of 64 GB/s in each direction" in finding.evidence
    assert "NCCL_DEBUG=INFO" in finding.remedy
    assert "earlier" not in finding.remedy
    # 16 ms are exposed; at the links' pace and 100 us each they would take 0.29 ms.
    assert finding.time_at_stake_ns == pytest.approx(15.71 * MS, rel=1e-3)


def test_ranks_that_may_be_on_several_machines() -> None:
    (finding,) = communication_findings(
        document(recording([collective("all_reduce", 0, 9 * MS, 17_632_384)], agents=1))
    )
    assert any(line.endswith("if the ranks are on one machine") for line in finding.evidence)


def test_collectives_at_the_pace_of_the_link_are_to_be_overlapped() -> None:
    rows = [collective("all_reduce", i * 2 * MS, i * 2 * MS + 500_000, 80_000_000) for i in range(3)]
    (finding,) = communication_findings(document(recording(rows)))
    assert finding.id == "exposed-communication"
    assert finding.remedy.startswith("They are about as fast as the links allow. Send fewer bytes")


def test_without_sizes_the_first_step_is_to_find_out() -> None:
    rows = [collective("unknown", i * 2 * MS, i * 2 * MS + MS, None, group_size=None) for i in range(3)]
    (finding,) = communication_findings(document(recording(rows)))
    assert finding.remedy.startswith("Find out first whether they are slow or wait for other ranks")


def test_a_stated_link_holds_for_every_group() -> None:
    """50 GB/s between machines: 17.6 MB over 64 ranks need 0.69 ms."""
    rows = [collective("all_reduce", 0, MS, 17_632_384, group_size=64)]
    (row,) = communication(recording(rows), link_gbps=50).rows
    assert (row.link.value, row.link.formula, row.pace) == (50, "as stated", "link")


def test_size_and_time_of_a_call_are_means_whose_quotient_is_the_rate() -> None:
    """25 and 30 MB in 40 and 15 ms: 27.5 MB in 27.5 ms, 1 GB/s of the algorithm."""
    rows = [
        collective("all_reduce", 0, 40 * MS, 25_000_000),
        collective("all_reduce", 50 * MS, 65 * MS, 30_000_000),
    ]
    (finding,) = communication_findings(document(recording(rows)))
    assert "23.8 MiB to 28.6 MiB at 1.8 GB/s" in finding.title
    assert any("2 calls of 27.5 ms, 26.2 MiB each on average" in line for line in finding.evidence)


def test_many_small_collectives_of_a_step_are_said_to_be_so() -> None:
    row = only_row(*(collective("all_reduce", at * 1000, at * 1000 + 600) for at in range(200)))
    said = many_and_small(row, steps=4, gpus=1)
    assert said == "50 all_reduce calls a step, half of them over within 600 ns: many small messages"
    assert many_and_small(row, steps=40, gpus=1) is None  # few a step
    assert many_and_small(row, steps=0, gpus=1) is None  # not known how many
