"""`rocm-perf doctor`."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from rocm_perf.cli.output import say, show_json
from rocm_perf.errors import UsageError

if TYPE_CHECKING:
    from rocm_perf.backends.machine import Machine
    from rocm_perf.model.results.doctor import DoctorReport


class DoctorCommand:
    """What can be profiled on this machine, what is in the way, and how to fix it.

    GPUs, drivers, releases, rights, tools, and for each GPU which methods work: yes, no with the reason, or untested.
    --probe tries each of them with a tiny program, or with APP. Exit code 0: kernels can be traced; 3: no GPU, driver,
    right or profiler; 4: only timing works. See docs/doctor.md.
    """

    name = "doctor"

    def prepare_parser(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "--probe", action="store_true", help="really try each method; takes a minute or so"
        )
        parser.add_argument("--json", action="store_true", help="everything, as JSON")
        parser.add_argument(
            "app", metavar="APP", nargs="*", help="program for --probe, behind -- (default: one of our own)"
        )
        parser.usage = "rocm-perf doctor [--probe] [--json] [-- APP ...]"

    def run(self, args: argparse.Namespace) -> int:
        from rocm_perf.backends import probe
        from rocm_perf.backends.profilers import PROFILERS
        from rocm_perf.collect.doctor import report as doctor

        if args.app and not args.probe:
            raise UsageError(
                f"{args.app[0]} is not used without --probe", next_step="Add --probe to try with it."
            )
        machine = probe.probe_machine()
        report = doctor.report(machine, PROFILERS)
        if args.probe and machine.gpus:
            from rocm_perf.collect.doctor.trial import try_methods
            from rocm_perf.collect.run.session import record

            trials = try_methods(machine, report.gpus, record, say, tuple(args.app))
            report = doctor.report(machine, PROFILERS, trials)
        if args.json:
            _print_json(machine, report)
        else:
            _print(report)
        return report.exit_code


def _print(report: DoctorReport) -> None:
    from rocm_perf.cli.console import result_console
    from rocm_perf.render.screen.doctor import print_doctor

    print_doctor(report, result_console())


def _print_json(machine: Machine, report: DoctorReport) -> None:
    import msgspec

    from rocm_perf.render import json

    show_json(json.encode({**msgspec.to_builtins(report), "machine": machine}))
