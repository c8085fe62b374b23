"""What is said of the kinds of step."""

from __future__ import annotations

from rocm_perf.analysis.overview import examine
from rocm_perf.render.sections.serving import serving_line, serving_section
from tests.unit.analysis.serving.loops import MS, Planted, in_time
from tests.unit.analysis.traces import kernel, trace

LOOP = [Planted("prefill[bs=2 tokens=500]", 20 * MS), *[Planted("decode[bs=2]", 4 * MS)] * 9]


def test_the_first_screen_has_the_cost_of_a_token_of_each_kind() -> None:
    document = examine(in_time(LOOP), "x")
    assert serving_line(document) == (
        "prefill: 1 of 20.4 ms, busy 98.0 %, 40.8 us a token, 24,510 tokens/s; "
        "decode: 9 of 4.40 ms, busy 90.9 %, 2.20 ms a token, 455 tokens/s"
    )


def test_no_row_of_a_kind_is_cut_off_by_top() -> None:
    section = serving_section(examine(in_time(LOOP), "x"), 1)
    assert list(section.grids[0].columns[0].cells) == ["prefill", "decode"]


def test_without_annotations_the_section_says_what_is_missing() -> None:
    document = examine(trace(dispatches=[kernel("gemm", 0, 9)]), "x")
    assert serving_line(document) == ""
    unavailable = serving_section(document, 20).unavailable
    assert unavailable is not None
    assert "vLLM, SGLang, ATOM and TensorRT-LLM" in unavailable
