"""`rocm-perf doctor`."""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING

from rocm_perf import user_program
from rocm_perf.cli.arguments import seconds
from rocm_perf.cli.output import say, show_json

if TYPE_CHECKING:
    from rocm_perf.backends.machine import Machine
    from rocm_perf.model.results.doctor import DoctorReport


class DoctorCommand:
    """What can be profiled on this machine, what is in the way, and how to fix it.

    GPUs, drivers, releases, rights, tools, and for each GPU which methods work: yes, no with the reason, or untested.
    --probe tries each of them with a tiny program, or with APP. Exit code 0: kernels can be traced; 3: no GPU, driver,
    right or profiler; 4: only timing works. With APP alone: which GPU libraries that program really loads, from where,
    and what is doubtful about it (4; 5 if it loads none). See docs/doctor.md.
    """

    def prepare_parser(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "--probe", action="store_true", help="really try each method; takes a minute or so"
        )
        parser.add_argument("--json", action="store_true", help="everything, as JSON")
        parser.add_argument(
            "--timeout",
            metavar="S",
            type=seconds,
            default=60.0,
            help="kill APP after S seconds (60); not with --probe",
        )
        parser.add_argument(
            "app", metavar="APP", nargs="*", help="program behind --: to look into, or to try with --probe"
        )
        parser.usage = "rocm-perf doctor [--probe] [--json] [-- APP ...]"

    def run(self, args: argparse.Namespace) -> int:
        from rocm_perf.backends import probe
        from rocm_perf.backends.profilers import PROFILERS
        from rocm_perf.collect.doctor import report as doctor

        if args.app and not args.probe:
            return _look_into(tuple(args.app), args)
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


def _look_into(command: tuple[str, ...], args: argparse.Namespace) -> int:
    """Say which GPU libraries a program loads."""
    from rocm_perf.backends import probe
    from rocm_perf.collect.doctor.program import watch_program
    from rocm_perf.collect.request.application import find_application

    find_application(command, os.environ)
    say(
        f"running {command[0]} under the loader's log, for at most {args.timeout:g} s; its output goes to stderr"
    )
    answer = watch_program(command, probe.probe_machine(), user_program.environment(), args.timeout)
    if args.json:
        from rocm_perf.render import json

        show_json(json.encode(answer))
    else:
        from rocm_perf.cli.console import result_console
        from rocm_perf.render.screen.program_libraries import print_libraries

        print_libraries(answer, result_console())
    return answer.exit_code


def _print(report: DoctorReport) -> None:
    from rocm_perf.cli.console import result_console
    from rocm_perf.render.screen.doctor import print_doctor

    print_doctor(report, result_console())


def _print_json(machine: Machine, report: DoctorReport) -> None:
    import msgspec

    from rocm_perf.render import json

    show_json(json.encode({**msgspec.to_builtins(report), "machine": machine}))
