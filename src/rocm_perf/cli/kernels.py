"""`rocm-perf kernels`."""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rocm_perf.cli.arguments import count, named_path, positive
from rocm_perf.cli.output import show_json
from rocm_perf.errors import RocmPerfError, UsageError

if TYPE_CHECKING:
    from rocm_perf.arch.codeobject.model import CodeObject
    from rocm_perf.arch.codeobject.report import KernelReport, Launch, ObjectReport

_MOST_IN_DETAIL = 4


class KernelsCommand:
    """What the kernels in a file need, and what their code shows: registers, spills, LDS, occupancy, instructions.

    FILE is a code object (.hsaco, .co), an offload bundle, a cubin or fatbin, or a program or library that contains
    such code. With one kernel, or with --kernel: its arguments, instruction mix and observations (these need a
    disassembler). Instructions are counted once each, not as often as they run.
    """

    name = "kernels"

    def prepare_parser(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("path", metavar="FILE", type=named_path, help="file with GPU code in it")
        parser.add_argument(
            "--arch", metavar="GFX", help="only the code for this architecture (gfx942, sm_90)"
        )
        parser.add_argument("--kernel", metavar="RE", help="only kernels whose name matches")
        parser.add_argument(
            "--workgroup",
            metavar="N",
            type=positive,
            help="work-items per workgroup, for the occupancy (default: the maximum)",
        )
        parser.add_argument("--lds", metavar="BYTES", type=count, default=0, help="LDS that the launch adds")
        parser.add_argument("--disassemble", action="store_true", help="print the instructions too")
        parser.add_argument("--json", action="store_true", help="print everything as JSON")

    def run(self, args: argparse.Namespace) -> int:
        from rocm_perf.arch.codeobject.reader import read
        from rocm_perf.arch.codeobject.report import Launch

        objects = _of_arch(read(args.path), args.arch)
        reports = _selected(objects, args.kernel, Launch(args.workgroup, args.lds))
        if args.disassemble or sum(len(report.kernels) for report in reports) <= _MOST_IN_DETAIL:
            reports = [_with_code(args.path, report, args.disassemble) for report in reports]
        _print(reports, args)
        return 0


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


def _print(reports: Sequence[ObjectReport], args: argparse.Namespace) -> None:
    if args.json:
        from rocm_perf.model.document import SCHEMA_VERSION
        from rocm_perf.render import json

        show_json(
            json.encode({"schema_version": SCHEMA_VERSION, "file": str(args.path), "objects": list(reports)})
        )
        return
    from rocm_perf.cli.console import result_console
    from rocm_perf.render.screen.kernels import print_kernels

    print_kernels(reports, result_console())
