"""Which serving program was recorded, and what it is told about graphs."""

from __future__ import annotations

import pytest

from rocm_perf.analysis.remedies.setting import setting
from rocm_perf.analysis.verdict.servers import serving_remedy
from rocm_perf.model.trace import Trace
from tests.unit.analysis.traces import kernel, marked, trace


def named(*operators: str, **tables: object) -> Trace:
    ops = [
        {"name": name, "category": "operator", "start_ns": 0, "end_ns": 9, "pid": 1, "tid": 1}
        for name in operators
    ]
    return trace(dispatches=[kernel("k", 0, 9)], ops=ops, **tables)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("recording", "advice"),
    [
        (named("aten::mm", "vllm::unified_attention"), "enforce_eager=False"),
        (named("vllm/v1/worker/gpu_worker.py(12): execute_model"), "enforce_eager=False"),
        (named("/usr/lib/python3/sglang/srt/server.py(3): run", "vllm::rms_norm"), "--disable-cuda-graph"),
        (named("aten::mm", ranges=[marked("step[DECODE bs=4]", 0, 9)]), "--disable-cuda-graph"),
    ],
)
def test_a_server_is_told_its_own_switch(recording: Trace, advice: str) -> None:
    assert advice in (serving_remedy(recording, setting(recording)) or "")


def test_other_programs_and_servers_that_replay_graphs_are_not_told() -> None:
    other, server = named("aten::mm", "mylib::not_vllm"), named("vllm::rms_norm")
    assert serving_remedy(other, setting(other)) is None
    assert serving_remedy(server, setting(server).with_graphs(True)) is None
