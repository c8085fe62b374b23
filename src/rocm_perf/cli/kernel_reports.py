"""What a file of GPU code says about its kernels, as the options of `rocm-perf kernels` choose them."""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rocm_perf.errors import RocmPerfError, UsageError

if TYPE_CHECKING:
    from rocm_perf.arch.codeobject.model import CodeObject
    from rocm_perf.arch.codeobject.report import KernelReport, Launch, ObjectReport


def kernel_reports(path: Path, args: argparse.Namespace, most_in_detail: int) -> list[ObjectReport]:
    """The kernels in a file; with their instructions where there are at most so many, or the listing was asked for."""
    from rocm_perf.arch.codeobject.reader import read
    from rocm_perf.arch.codeobject.report import Launch

    objects = _of_arch(read(path), args.arch)
    reports = _selected(objects, args.kernel, Launch(args.workgroup, args.lds))
    if args.disassemble or sum(len(report.kernels) for report in reports) <= most_in_detail:
        reports = [_with_code(path, report, args.disassemble) for report in reports]
    return reports


def _of_arch(objects: Sequence[CodeObject], arch: str | None) -> list[CodeObject]:
    chosen = [item for item in objects if arch is None or item.arch == arch]
    if not chosen:
        available = ", ".join(dict.fromkeys(item.arch for item in objects)) or "none"
        raise UsageError(f"the file has no code for {arch}", next_step=f"It has: {available}.")
    return chosen


def _selected(objects: Sequence[CodeObject], pattern: str | None, launch: Launch) -> list[ObjectReport]:
    import msgspec

    from rocm_perf.analysis.basis.names import demangle
    from rocm_perf.arch.codeobject.report import ObjectReport, kernel_report

    wanted = _regex(pattern)
    reports = []
    for item in objects:
        named = [(kernel, demangle(kernel.name)) for kernel in item.kernels]
        kernels = tuple(
            kernel_report(kernel, name, item.arch, launch)
            for kernel, name in named
            if wanted.search(name) or wanted.search(kernel.name)
        )
        if kernels or pattern is None:
            reports.append(ObjectReport(msgspec.structs.replace(item, kernels=()), kernels))
    if not reports:
        total = sum(len(item.kernels) for item in objects)
        raise UsageError(
            f"none of its {total:,} kernels matches {pattern!r}",
            next_step="Leave out --kernel to see them all.",
        )
    return reports


def _regex(pattern: str | None) -> re.Pattern[str]:
    try:
        return re.compile(pattern or "")
    except re.error as error:
        raise UsageError(f"--kernel {pattern!r} is not a regular expression", str(error)) from error


def _with_code(path: Path, report: ObjectReport, listing: bool) -> ObjectReport:
    """The report with instructions, or with the reason why not; an error only where a listing was asked for."""
    import msgspec

    from rocm_perf.arch.codeobject import disassembly
    from rocm_perf.arch.codeobject.reader import image_of
    from rocm_perf.arch.codeobject.report import with_code

    item = report.code_object
    if not report.kernels:
        return report
    try:
        if item.kind != "AMD code object":
            raise UsageError(
                f"only AMD code can be disassembled, and this is an {item.kind}", next_step="Use nvdisasm."
            )
        tool = disassembly.find_disassembler(os.environ.get(disassembly.VARIABLE))
        names = [entry.kernel.name for entry in report.kernels]
        listings = disassembly.disassemble(image_of(path, item.index), names, tool)
    except RocmPerfError as error:
        if listing:
            raise
        kernels = tuple(_without_code(entry, str(error)) for entry in report.kernels)
    else:
        kernels = tuple(
            with_code(entry, item.arch, listings[entry.kernel.name], listing)
            if entry.kernel.name in listings
            else _without_code(entry, "the disassembler did not find its code")
            for entry in report.kernels
        )
    return msgspec.structs.replace(report, kernels=kernels)


def _without_code(entry: KernelReport, why: str) -> KernelReport:
    import msgspec

    return msgspec.structs.replace(entry, code_unavailable=why)
