"""A comparison as a comment on a pull request."""

from __future__ import annotations

from msgspec.structs import replace

from rocm_perf.analysis.compare.populations import compare
from rocm_perf.model.results.check import Check
from rocm_perf.render.report.comparison import comparison_markdown
from tests.unit.analysis.compare.programs import MM, Op, program
from tests.unit.analysis.compare.sides import loop, side

BASE = side(*(loop(seed, 100.0) for seed in range(3)))
NEW = side(*(loop(seed + 50, 120.0) for seed in range(3)))


def test_the_answer_and_the_checks_come_first() -> None:
    checks = (Check("wall>3%", "failed", ("wall of a step: 1 ms -> 2 ms",)),)
    text = comparison_markdown(replace(compare(BASE, NEW), checks=checks), top=5)
    lines = text.splitlines()
    assert lines[0] == "# before (3 runs) -> after (3 runs)"
    assert lines[2].startswith("**Wall of a step: ")
    assert lines[2].endswith(" at 95 %)**")
    assert text.index("- **failed: wall>3%**") < text.index("| difference | before | after | part |")
    assert text.count("<details><summary>Kernels</summary>") == text.count("</details>") == 1
    assert "| slower | `Cijk_Alik_Bljk_BBS_BH MT64x32x128` |" in text


def test_operators_are_folded_or_said_to_be_missing() -> None:
    missing = comparison_markdown(compare(BASE, NEW), top=5)
    assert "\nOperators: no framework operator was recorded (torch.profiler records them).\n" in missing
    text = comparison_markdown(compare(side(program(MM)), side(program(MM._replace(gpu_us=60)))), top=5)
    assert "<details><summary>Operators</summary>" in text
    assert "| -40.0 us | 100 us -> 60.0 us | -40.0 % | 0 | 10.0 us -> 10.0 us | 1 | `aten::mm` |" in text


def test_what_became_of_the_work_stands_open_and_its_views_are_folded() -> None:
    eager = program(MM, Op("aten::silu", 20), Op("aten::mul", 20))
    compiled = program(MM, Op("triton_poi_fused_mul_silu_0", 25, kernel="triton_poi_fused_mul_silu_0"))
    text = comparison_markdown(compare(side(eager), side(compiled)), top=5)
    assert "| -15.0 us | 40.0 us | 25.0 us | GPU: fused operators |" in text
    assert "| `aten::silu, aten::mul -> triton_poi_fused_mul_silu` |" in text
    views = text[text.index("<details><summary>Three views of the difference</summary>") :]
    assert "each sums to -15.0 us" in views
    for name in ("(no module)", "aten::silu + aten::mul", "other"):
        assert f"| `{name}` |" in views


def test_a_name_from_a_recording_is_only_a_name() -> None:
    comparison = compare(BASE, NEW, ("a<script>", "b`|*"))
    assert comparison_markdown(comparison, top=5).startswith("# a&lt;script> (3 runs) -> b`\\|\\* (3 runs)")
