"""The kernels of two files of GPU code, from what a compiler would have written into them."""

from __future__ import annotations

import pytest

from rocm_perf.analysis.compare.code_objects import pair_kernels
from rocm_perf.analysis.compare.gates.code_objects import judge, require_known
from rocm_perf.analysis.compare.gates.expressions import parse
from rocm_perf.arch.codeobject.model import CodeObject, Kernel
from rocm_perf.arch.codeobject.report import Launch, ObjectReport, kernel_report
from rocm_perf.errors import UsageError
from rocm_perf.model.results.check import Outcome


def code(name: str, vgprs: int | None = 64, spills: int | None = 0, lds: int = 0) -> Kernel:
    return Kernel(
        name=name,
        vgprs=vgprs,
        agprs=0,
        sgprs=20,
        vgpr_spills=spills,
        sgpr_spills=spills and 0,
        lds_bytes=lds,
        scratch_bytes=4 * (spills or 0),
        dynamic_stack=False,
        wave_size=64,
        max_workgroup_size=256,
        kernarg_bytes=16,
        code_bytes=1000,
        cu_mode=None,
    )


def file(*kernels: Kernel, arch: str = "gfx942") -> ObjectReport:
    item = CodeObject(index=0, place="the file itself", kind="AMD code object", arch=arch, size_bytes=9)
    return ObjectReport(item, tuple(kernel_report(kernel, kernel.name, arch, Launch()) for kernel in kernels))


def test_kernels_are_paired_and_those_that_got_worse_come_first() -> None:
    base = file(code("same"), code("f"), code("gone"), code("void t<4>()"))
    new = file(code("same"), code("void t<8>()", vgprs=128), code("f", spills=7), code("fresh"))
    pairs, notes = pair_kernels([base], [new])
    assert [(pair.name, pair.match, pair.differs) for pair in pairs] == [
        ("f", "name", True),
        ("void t<8>()", "short name", True),
        ("fresh", "appeared", True),
        ("same", "name", False),
        ("gone", "vanished", True),
    ]
    assert notes == ()


def test_each_architecture_is_compared_with_its_own() -> None:
    pairs, notes = pair_kernels(
        [file(code("f")), file(code("f", vgprs=32), arch="gfx90a"), file(code("f"), arch="gfx1100")],
        [file(code("f", vgprs=33), arch="gfx90a"), file(code("f"))],
    )
    assert {(pair.arch, pair.differs) for pair in pairs} == {("gfx942", False), ("gfx90a", True)}
    assert notes == ("not compared, because only one file has code for it: gfx1100",)
    with pytest.raises(UsageError, match="one has gfx942, the other gfx1100"):
        pair_kernels([file(code("f"))], [file(code("f"), arch="gfx1100")])


def test_two_kernels_of_one_name_are_paired_in_their_order() -> None:
    pairs, _ = pair_kernels(
        [file(code("f", 10), code("f", 20))], [file(code("f", 10), code("f", 20), code("f", 30))]
    )
    assert sorted((pair.match, pair.differs) for pair in pairs) == [
        ("appeared", True),
        ("name", False),
        ("name", False),
    ]


@pytest.mark.parametrize(
    ("limit", "expected"),
    [
        ("spills>0", "failed"),
        ("kernel:f.spills>+7", "passed"),
        ("kernel:f.spills>+6", "failed"),
        ("kernel:same.spills>0", "passed"),
        ("kernel:none*.spills>0", "undecided"),
        ("kernel:fresh.vgprs>+8", "undecided"),  # it has no base
        ("kernel:fresh.vgprs>128", "passed"),
        ("kernel:*t<8>*.vgprs>+8", "failed"),
        ("kernel:f.vgprs>+8", "passed"),
        ("waves<-10%", "failed"),
        ("kernel:f.scratch>1KiB", "passed"),
        ("kernel:f.scratch>1%", "failed"),
        ("kernel:f.instructions>+1", "undecided"),  # not disassembled
    ],
)
def test_limits(limit: str, expected: Outcome) -> None:
    base = file(code("same"), code("f"), code("void t<4>()"))
    new = file(code("same"), code("void t<8>()", vgprs=256), code("f", spills=7), code("fresh"))
    expression = parse(limit)
    require_known([expression])
    (check,) = judge(pair_kernels([base], [new])[0], [expression])
    assert check.outcome == expected


def test_what_a_file_does_not_record_fails_closed() -> None:
    pairs, _ = pair_kernels([file(code("f", spills=None))], [file(code("f", spills=None))])
    (check,) = judge(pairs, [parse("spills>0")])
    assert check.outcome == "undecided"
    assert check.details == ("f (gfx942) spills: - -> -; cannot tell: the file does not record it",)


@pytest.mark.parametrize("limit", ["spilt>0", "wall>3%", "lds>3us", "vgprs>4KiB"])
def test_unknown_quantities_are_refused(limit: str) -> None:
    with pytest.raises(UsageError):
        require_known([parse(limit)])
