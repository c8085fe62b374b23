"""What limits a kernel: its causes, its units, and how a kernel is named."""

from __future__ import annotations

import pytest

from rocm_perf.errors import UsageError
from rocm_perf.render.sections.explain import explanations
from rocm_perf.render.sections.index import chosen, kernel_name, names_in
from rocm_perf.render.sections.kernels import kernels_section
from rocm_perf.render.sections.limits import (
    kernels_of,
    limited_by,
    limits_section,
    named,
    named_section,
    no_such_kernel,
)
from tests.unit.render.limits_example import BANK, COPY, IDLE, judged, without_limits


def test_causes_in_order_with_worth_certainty_and_remedy() -> None:
    first, second = named_section(judged(), "bank").items
    assert first.title == "All of its time: 97 % of its shared-memory cycles are bank conflicts"
    assert first.facts == (
        ("worth", "at most 450 ns of its 600 ns (4 times as fast)"),
        ("why", "40 of 41 wavefronts repeat an access; 32-way conflicts on reads"),
        ("do", "Pad the rows of the tile by one element."),
        ("is not", "a lack of LDS bandwidth"),
        ("sure", "proven by counters"),
    )
    assert second.title == "12.0 % of its time: warps wait at barriers"
    assert dict(second.facts)["worth"] == "not known: nothing bounds it but the kernel's own time"
    assert dict(second.facts)["sure"] == "a hint, from PC samples"


def test_the_units_as_bars_the_fullest_first() -> None:
    units = named_section(judged(), "bank").grids[0]
    cells = {column.heading: list(column.cells) for column in units.columns}
    assert cells["unit"] == ["shared memory", "issue slots", "FP64 pipe"]
    assert cells["0 to 100 % of the time"] == ["████░░░░░░░░░░░░░░", "▒▒▒▒▒▒▒▒▒▒", ""]
    assert cells["busy"] == ["90.0 %", "50.0 %", "0.0 %"]
    assert cells["useful"] == ["25.0 %", "-", "-"]
    assert cells["source"] == ["counters", "counters", "code"]


def test_what_is_not_known_says_why() -> None:
    assert "not known: tensor cores (it was not recorded)" in named_section(judged(), "bank").notes
    nothing = named_section(judged(), IDLE)
    assert nothing.items[0].title == "Nothing was measured"
    assert "no counters were recorded" in nothing.notes
    assert "for more evidence: rocm-perf profile --deep -- APP" in nothing.notes


def test_readings_by_what_they_tell_the_longest_wait_first() -> None:
    _, waits, parallelism, work = named_section(judged(), "bank").grids
    assert waits.title == "Waits: time that warps wait, from counters"
    assert list(waits.columns[0].cells) == ["for LDS", "at barriers"]
    assert list(waits.columns[2].cells) == ["60.0 %", "10.0 %"]
    assert parallelism.title == "Parallelism, from launch geometry"
    assert list(parallelism.columns[0].cells) == ["4 blocks"]
    assert list(work.columns[0].cells) == ["2.00 KiB"]


def test_every_number_says_how_it_was_made() -> None:
    texts = explanations(named_section(judged(), "bank").grids[0], {})
    assert texts[0] == "busy, shared memory: 90.0 % = wavefronts / cycles; with wavefronts = 90, cycles = 100"
    assert "busy, FP64 pipe: 0.0 % = f64 / cycles" in texts


def test_kernels_without_a_table_are_left_out_unless_there_is_none() -> None:
    section = limits_section(judged(), 20)
    assert [part.title for part in section.parts] == ["bank", "copy_rows"]
    assert section.lines[0].endswith("Known for 2 of 3 kernels.")
    assert limits_section(without_limits(), 20).unavailable == "no counters were recorded"


def test_a_kernel_by_its_name_in_full_or_by_a_part_of_it() -> None:
    document = judged()
    assert [one.kernel for one in named(document, BANK)] == [BANK]
    assert [one.kernel for one in named(document, "BANK")] == [BANK]
    assert [one.kernel for one in named(document, "copy_rows")] == [COPY]
    assert [one.kernel for one in named(document, "copy")] == [COPY, IDLE]
    several = named_section(document, "copy")
    assert list(several.grids[0].columns[-1].cells) == ["copy_rows", "copy_columns"]
    assert list(several.grids[0].columns[2].cells) == ["issue slots 50 %", ""]


def test_a_name_that_no_kernel_has_is_answered_by_similar_ones() -> None:
    assert no_such_kernel(judged(), "copy_rosw") == (
        "no kernel has a name that contains 'copy_rosw'; similar names: copy_rows, copy_columns"
    )
    assert "the longest are: bank, copy_rows, copy_columns" in no_such_kernel(judged(), "zzz")


def test_the_table_of_kernels_says_what_limits_each() -> None:
    assert [limited_by(one) for one in kernels_of(judged())] == ["bank conflicts", "issue slots 50 %", ""]
    (table,) = kernels_section(judged(), 20).grids
    (column,) = (column for column in table.columns if column.heading == "limited by")
    assert list(column.cells) == ["bank conflicts", "issue slots 50 %", ""]
    assert column.legend == "first cause or fullest unit"


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("gaps, kernels", ["gaps", "kernels"]),
        ("kernel:bank<float, 32>,gaps", ["kernel:bank<float, 32>", "gaps"]),
        ("kernel:f(int, int)", ["kernel:f(int, int)"]),
        (",,", []),
    ],
)
def test_commas_in_the_name_of_a_kernel_do_not_end_it(text: str, names: list[str]) -> None:
    assert names_in(text) == names


def test_one_kernel_is_a_section_of_its_own() -> None:
    assert chosen(["kernel:bank", "gaps", "kernel:bank"]) == ["kernel:bank", "gaps"]
    assert kernel_name("kernel:bank") == "bank"
    assert kernel_name("kernels") is None
    with pytest.raises(UsageError, match="kernel:NAME shows one kernel"):
        chosen(["kernl"])
