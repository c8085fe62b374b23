"""The entry point: parses, runs one verb, and alone turns errors into a line on stderr and an exit code."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from rocm_perf.cli.analyze import AnalyzeCommand
from rocm_perf.cli.capture import CaptureCommand
from rocm_perf.cli.command import Command
from rocm_perf.cli.compare import CompareCommand
from rocm_perf.cli.debug import DebugCommand
from rocm_perf.cli.demo import DemoCommand
from rocm_perf.cli.doctor import DoctorCommand
from rocm_perf.cli.export import ExportCommand
from rocm_perf.cli.formats import FormatsCommand
from rocm_perf.cli.gpus import GpusCommand
from rocm_perf.cli.kernels import KernelsCommand
from rocm_perf.cli.list_counters import ListCountersCommand
from rocm_perf.cli.presets import PresetsCommand
from rocm_perf.cli.profile import CountersCommand, ProfileCommand, TraceCommand
from rocm_perf.cli.query import QueryCommand
from rocm_perf.cli.replay import ReplayCommand
from rocm_perf.cli.report import ReportCommand
from rocm_perf.cli.repro import ReproCommand
from rocm_perf.cli.sample import SampleCommand
from rocm_perf.cli.whatif import WhatifCommand
from rocm_perf.errors import RocmPerfError
from rocm_perf.version import __version__

COMMANDS: tuple[Command, ...] = (
    DemoCommand(),
    DoctorCommand(),
    ProfileCommand(),
    CountersCommand(),
    TraceCommand(),
    SampleCommand(),
    DebugCommand(),
    AnalyzeCommand(),
    CompareCommand(),
    ReportCommand(),
    QueryCommand(),
    ExportCommand(),
    WhatifCommand(),
    ReproCommand(),
    CaptureCommand(),
    ReplayCommand(),
    PresetsCommand(),
    FormatsCommand(),
    GpusCommand(),
    KernelsCommand(),
    ListCountersCommand(),
)

EXIT_INTERNAL = 70
EXIT_INTERRUPTED = 130

_DESCRIPTION = "Why is a GPU program slow: records it, or reads what any profiler recorded."
_EPILOG = (
    "Start with: rocm-perf profile -- ./app, or rocm-perf analyze RECORDING. "
    "Exit codes: 0 done, 2 usage, 3 absent, 4 a fallback ran, 5 nothing captured, 6 unreadable."
)


def build_parser(only: str | None = None) -> argparse.ArgumentParser:
    """The parser of all verbs; `only` one of them with its options, which is enough to run it, and quicker."""
    parser = argparse.ArgumentParser(prog="rocm-perf", description=_DESCRIPTION, epilog=_EPILOG)
    parser.add_argument("--version", action="version", version=f"rocm-perf {__version__}")
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", required=True)
    for command in COMMANDS:
        text = command.__doc__ or ""
        verb = verbs.add_parser(command.name, help=text.splitlines()[0].rstrip("."), description=text)
        if only in (None, command.name):
            command.prepare_parser(verb)
        verb.set_defaults(command=command)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run one verb; returns the exit code."""
    words = sys.argv[1:] if argv is None else list(argv)
    verb = next((word for word in words if not word.startswith("-")), "")
    args = build_parser(verb).parse_args(words)
    try:
        code: int = args.command.run(args)
        sys.stdout.flush()
    except RocmPerfError as error:
        print(f"rocm-perf: {error}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        print("rocm-perf: interrupted", file=sys.stderr)
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        # The reader (head, a pager) has seen enough; keep Python from complaining at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception as error:  # the last line of defence: a traceback is a bug
        if os.environ.get("ROCM_PERF_DEBUG"):
            raise
        print(
            f"rocm-perf: internal error ({type(error).__name__}: {error}). "
            "Please report it; ROCM_PERF_DEBUG=1 shows where.",
            file=sys.stderr,
        )
        return EXIT_INTERNAL
    return code


if __name__ == "__main__":
    sys.exit(main())
