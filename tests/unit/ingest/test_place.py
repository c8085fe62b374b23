"""What the name and folder of a file say of its process."""

from __future__ import annotations

from pathlib import Path

import pytest

from rocm_perf.ingest.io.source import Source
from rocm_perf.ingest.place import place_of


@pytest.mark.parametrize(
    ("path", "prefix", "found", "root"),
    [
        ("out/node1/1234_kernel_trace.csv", "1234", (None, "node1", 1234, None), "out"),
        ("out/pmc_2/node1/1234_counter_collection.csv", "1234", (2, "node1", 1234, None), "out"),
        ("out/pass_3/1234_results.db", "1234", (3, None, 1234, None), "out"),
        ("out/results_kernel_trace.csv.gz", "results", (None, None, None, None), "out"),
        ("out/app_hip_api_trace.csv", "app", (None, None, None, None), "out"),
        ("out/app_memory_copy_trace.csv", "app", (None, None, None, None), "out"),
        ("out/app_kernel_stats.csv", "app", (None, None, None, None), "out"),
        ("out/app_agent_info.csv", "app", (None, None, None, None), "out"),
        ("out/app_pc_sampling_host_trap.csv", "app", (None, None, None, None), "out"),
        ("out/app.stats.csv", "app", (None, None, None, None), "out"),
        ("out/rank_5.pt.trace.json", "rank_5", (None, None, None, 5), "out"),
        ("out/rank-12/trace.json", "trace", (None, None, None, 12), "out/rank-12"),
        ("out/Rank3_trace.json", "Rank3", (None, None, None, 3), "out"),
        ("out/frank3.json", "frank3", (None, None, None, None), "out"),
        ("out/18446744073709551615.csv", "18446744073709551615", (None, None, None, None), "out"),
        (
            "out/pass_18446744073709551615/trace.json",
            "trace",
            (None, None, None, None),
            "out/pass_18446744073709551615",
        ),
        ("out/rank_18446744073709551615.json", "rank_18446744073709551615", (None, None, None, None), "out"),
        ("out/notes", "notes", (None, None, None, None), "out"),
    ],
)
def test_layouts(path: str, prefix: str, found: tuple[object, ...], root: str) -> None:
    place = place_of(Source(Path(path)))
    assert place.set_key == (str(Path(path).parent), prefix)
    assert (place.pass_id, place.host, place.pid, place.rank) == found
    assert place.root == Path(root)


def test_files_of_one_process_share_a_key_also_inside_a_zip() -> None:
    names = [
        "kernel_trace.csv",
        "hip_api_trace.csv",
        "agent_info.csv",
        "results.json",
        "counter_collection.csv",
    ]
    keys = {place_of(Source(Path("out.zip"), f"node1/77_{name}")).set_key for name in names}
    assert keys == {("out.zip/node1", "77")}
