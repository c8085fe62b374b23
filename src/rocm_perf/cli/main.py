"""The entry point: parses, runs one verb, and is the only place that turns errors into a line on stderr and an exit
code."""

from __future__ import annotations

import argparse
import os
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import FrameType

from rocm_perf.cli.ab import AbCommand
from rocm_perf.cli.analyze import AnalyzeCommand
from rocm_perf.cli.bench import BenchCommand
from rocm_perf.cli.build import BuildCommand
from rocm_perf.cli.capture import CaptureCommand
from rocm_perf.cli.ceilings import CeilingsCommand
from rocm_perf.cli.command import Command
from rocm_perf.cli.compare import CompareCommand
from rocm_perf.cli.count import CountCommand
from rocm_perf.cli.debug import DebugCommand
from rocm_perf.cli.demo import DemoCommand
from rocm_perf.cli.doctor import DoctorCommand
from rocm_perf.cli.emulate import EmulateCommand
from rocm_perf.cli.export import ExportCommand
from rocm_perf.cli.formats import FormatsCommand
from rocm_perf.cli.gate import GateCommand
from rocm_perf.cli.gpus import GpusCommand
from rocm_perf.cli.history import HistoryCommand
from rocm_perf.cli.kernels import KernelsCommand
from rocm_perf.cli.launch import LaunchCommand
from rocm_perf.cli.lean import without_last_collection
from rocm_perf.cli.list_counters import ListCountersCommand
from rocm_perf.cli.mcp import McpCommand
from rocm_perf.cli.merge import MergeCommand
from rocm_perf.cli.optimize import OptimizeCommand
from rocm_perf.cli.output import forget, ready_streams, say
from rocm_perf.cli.presets import PresetsCommand
from rocm_perf.cli.profile import CountersCommand, ProfileCommand, TraceCommand
from rocm_perf.cli.query import QueryCommand
from rocm_perf.cli.replay import ReplayCommand
from rocm_perf.cli.report import ReportCommand
from rocm_perf.cli.repro import ReproCommand
from rocm_perf.cli.run import RunCommand
from rocm_perf.cli.sample import SampleCommand
from rocm_perf.cli.serve import ServeCommand
from rocm_perf.cli.suite import SuiteCommand
from rocm_perf.cli.whatif import WhatifCommand
from rocm_perf.errors import InputError, OutputError, RocmPerfError, UsageError
from rocm_perf.version import __version__

COMMANDS: tuple[Command, ...] = (
    DemoCommand(),
    DoctorCommand(),
    ProfileCommand(),
    CountersCommand(),
    TraceCommand(),
    LaunchCommand(),
    SampleCommand(),
    RunCommand(),
    BuildCommand(),
    DebugCommand(),
    MergeCommand(),
    AnalyzeCommand(),
    CompareCommand(),
    BenchCommand(),
    AbCommand(),
    HistoryCommand(),
    GateCommand(),
    ReportCommand(),
    ServeCommand(),
    McpCommand(),
    QueryCommand(),
    ExportCommand(),
    WhatifCommand(),
    ReproCommand(),
    EmulateCommand(),
    OptimizeCommand(),
    CaptureCommand(),
    ReplayCommand(),
    CountCommand(),
    CeilingsCommand(),
    SuiteCommand(),
    PresetsCommand(),
    FormatsCommand(),
    GpusCommand(),
    KernelsCommand(),
    ListCountersCommand(),
)

EXIT_INTERNAL = 70
_ENDING = (signal.SIGTERM, signal.SIGHUP)

_DESCRIPTION = "Why is a GPU program slow: records it, or reads what any profiler recorded."
_EPILOG = (
    "Start with: rocm-perf profile -- ./app, or rocm-perf analyze RECORDING. "
    "Exit codes: 0 done, 1 a check failed, 2 usage, 3 absent, 4 a fallback ran, 5 nothing captured, 6 unreadable."
)


def build_parser(only: str | None = None) -> argparse.ArgumentParser:
    """The parser of all verbs; with `only`, the options of that verb alone, which is enough to run it, and faster."""
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


class Ended(KeyboardInterrupt):
    """A signal asks us to end: as by Ctrl-C, so that whatever cleans up behind itself does."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number


def main(argv: Sequence[str] | None = None) -> int:
    """Run one verb; returns the exit code."""
    ready_streams()
    without_last_collection()
    arguments = sys.argv[1:] if argv is None else list(argv)
    verb = next((argument for argument in arguments if not argument.startswith("-")), "")
    args = build_parser(verb).parse_args(arguments)
    try:
        with _ending_signals():
            code: int = args.command.run(args)
            return _flushed(code)
    except RocmPerfError as error:
        say(str(error))
        return error.exit_code
    except KeyboardInterrupt as error:
        number = error.number if isinstance(error, Ended) else signal.SIGINT
        say("interrupted" if number == signal.SIGINT else f"ended by {signal.Signals(number).name}")
        return 128 + number
    except BrokenPipeError:
        return _flushed(0)
    except OSError as error:
        return _refused(error)
    except UnicodeEncodeError:
        say(
            "a file name or an argument is not UTF-8 text, which this command needs. "
            "Rename the file, or change the argument."
        )
        return UsageError.exit_code
    except SystemExit:
        raise
    except (
        BaseException
    ) as error:  # the last line of defence: a traceback is a bug, and a Polars panic is not an Exception
        if os.environ.get("ROCM_PERF_DEBUG"):
            raise
        say(
            f"internal error ({type(error).__name__}: {error}). "
            "Please report it; ROCM_PERF_DEBUG=1 shows where."
        )
        return EXIT_INTERNAL


@contextmanager
def _ending_signals() -> Iterator[None]:
    """A signal that is ignored, as by nohup, stays ignored."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    ours = [number for number in _ENDING if signal.getsignal(number) is signal.SIG_DFL]

    def end(number: int, _frame: FrameType | None) -> None:
        for each in ours:
            signal.signal(each, signal.SIG_IGN)  # cleaning up is not disturbed
        raise Ended(number)

    for number in ours:
        signal.signal(number, end)
    try:
        yield
    finally:
        for number in ours:
            signal.signal(number, signal.SIG_DFL)


def _flushed(code: int) -> int:
    """Flush stdout and return the code. The reader (head, a pager) may have left early, which is not an error."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        forget(sys.stdout)
    return code


def _refused(error: OSError) -> int:
    """Report what the system refused and the verb did not explain, such as a full device behind stdout."""
    if os.environ.get("ROCM_PERF_DEBUG"):
        raise error
    why = error.strerror or str(error)
    if not _has_working_folder():
        refusal: RocmPerfError = InputError(
            "the working directory no longer exists", why, "Change to one that does."
        )
    elif error.filename is None:
        forget(sys.stdout)  # Python would try again at exit
        refusal = OutputError("cannot write the output", why)
    else:
        refusal = InputError(f"cannot use {os.fsdecode(error.filename)}", why)
    say(str(refusal))
    return refusal.exit_code


def _has_working_folder() -> bool:
    try:
        return os.path.isdir(os.getcwd())
    except OSError:
        return False


if __name__ == "__main__":
    sys.exit(main())
