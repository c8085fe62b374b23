"""`rocm-perf kernels`."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rocm_perf.cli.arguments import count, named_path, positive
from rocm_perf.cli.checks import add_checks, exit_code_of, expressions_of, write_junit
from rocm_perf.cli.kernel_reports import kernel_reports
from rocm_perf.cli.output import show_json
from rocm_perf.errors import UsageError

if TYPE_CHECKING:
    from rocm_perf.analysis.compare.gates.expressions import Expression
    from rocm_perf.arch.codeobject.comparison import CodeComparison
    from rocm_perf.arch.codeobject.report import ObjectReport

_MOST_IN_DETAIL = 4
_MOST_DISASSEMBLED = 256  # kernels of a file whose instructions are compared; a library has thousands
_ROWS = 30


class KernelsCommand:
    """What the kernels in a file need, and what their code shows: registers, spills, LDS, occupancy, instructions.

    FILE is a code object (.hsaco, .co), an offload bundle, a cubin or fatbin, or a program or library that contains
    such code. With one kernel, or with --kernel: its arguments, instruction mix and observations (these need a
    disassembler). Instructions are counted once each, not as often as they run.

    With a second file, for example of another compiler: what differs, kernel by kernel.
    """

    def prepare_parser(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("path", metavar="FILE", type=named_path, help="file with GPU code in it")
        parser.add_argument("new", metavar="NEW", nargs="?", type=named_path, help="file to compare it with")
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
        add_checks(parser, "spills>0", "waves<-10%", "kernel:gemm*.vgprs>+8")
        parser.add_argument("--json", action="store_true", help="print everything as JSON")

    def run(self, args: argparse.Namespace) -> int:
        from rocm_perf.analysis.compare.gates.code_objects import require_known

        expressions = expressions_of(args)
        require_known(expressions)
        if args.new is None:
            if expressions:
                raise UsageError("--fail-on compares two files", next_step="Name the new one, too.")
            _print(kernel_reports(args.path, args, _MOST_IN_DETAIL), args)
            return 0
        if args.disassemble:
            raise UsageError("--disassemble lists one file", next_step="Leave out it, or the second file.")
        comparison = _compared(args, expressions)
        _print_comparison(comparison, args)
        write_junit(comparison.checks, args, suite="rocm-perf kernels")
        return exit_code_of(comparison.checks)


def _compared(args: argparse.Namespace, expressions: Sequence[Expression]) -> CodeComparison:
    from rocm_perf.analysis.compare.code_objects import pair_kernels
    from rocm_perf.analysis.compare.gates.code_objects import judge
    from rocm_perf.arch.codeobject.comparison import CodeComparison

    base, new = (kernel_reports(path, args, _MOST_DISASSEMBLED) for path in (args.path, args.new))
    pairs, notes = pair_kernels(base, new)
    return CodeComparison(
        base=str(args.path),
        new=str(args.new),
        pairs=pairs,
        notes=(*notes, *_without_instructions((*base, *new))),
        checks=judge(pairs, expressions),
    )


def _without_instructions(reports: Sequence[ObjectReport]) -> list[str]:
    """Why instructions are not compared, once for each reason."""
    kernels = [kernel for report in reports for kernel in report.kernels if kernel.code is None]
    reasons = dict.fromkeys(
        kernel.code_unavailable
        or f"there are more than {_MOST_DISASSEMBLED} kernels; --kernel RE chooses some"
        for kernel in kernels
    )
    return [f"instructions are not compared: {reason}" for reason in list(reasons)[:1]]


def _print_comparison(comparison: CodeComparison, args: argparse.Namespace) -> None:
    if args.json:
        from rocm_perf.render import json

        show_json(json.encode(comparison))
        return
    from rocm_perf.cli.console import result_console
    from rocm_perf.render.screen.kernel_comparison import print_kernel_comparison

    print_kernel_comparison(comparison, result_console(), _ROWS)


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
