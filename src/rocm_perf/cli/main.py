"""The entry point: parses, runs one verb, and is the only place that turns errors into a line on stderr and an exit
code."""

from __future__ import annotations

import argparse
import os
import shlex
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from importlib import import_module
from types import FrameType
from typing import NoReturn

from rocm_perf.cli.arguments import Parser
from rocm_perf.cli.command import Command
from rocm_perf.cli.lean import collect_seldom, take_turns_often
from rocm_perf.cli.output import forget, ready_streams, say, say_error
from rocm_perf.cli.reading import ends_on_signals
from rocm_perf.errors import InputError, NotSupportedError, OutputError, RocmPerfError, UsageError
from rocm_perf.memory import require_address_space
from rocm_perf.user_program import wait_for_children
from rocm_perf.version import __version__

# Each is imported when it is asked for.
VERBS = {
    "demo": "demo:DemoCommand",
    "doctor": "doctor:DoctorCommand",
    "profile": "profile:ProfileCommand",
    "counters": "profile:CountersCommand",
    "trace": "profile:TraceCommand",
    "launch": "launch:LaunchCommand",
    "sample": "sample:SampleCommand",
    "run": "run:RunCommand",
    "build": "build:BuildCommand",
    "debug": "debug:DebugCommand",
    "merge": "merge:MergeCommand",
    "analyze": "analyze:AnalyzeCommand",
    "compare": "compare:CompareCommand",
    "bench": "bench:BenchCommand",
    "ab": "ab:AbCommand",
    "history": "history:HistoryCommand",
    "gate": "gate:GateCommand",
    "report": "report:ReportCommand",
    "serve": "serve:ServeCommand",
    "mcp": "mcp:McpCommand",
    "query": "query:QueryCommand",
    "export": "export:ExportCommand",
    "whatif": "whatif:WhatifCommand",
    "repro": "repro:ReproCommand",
    "emulate": "emulate:EmulateCommand",
    "optimize": "optimize:OptimizeCommand",
    "capture": "capture:CaptureCommand",
    "replay": "replay:ReplayCommand",
    "count": "count:CountCommand",
    "ceilings": "ceilings:CeilingsCommand",
    "suite": "suite:SuiteCommand",
    "presets": "presets:PresetsCommand",
    "formats": "formats:FormatsCommand",
    "gpus": "gpus:GpusCommand",
    "kernels": "kernels:KernelsCommand",
    "list-counters": "list_counters:ListCountersCommand",
}

EXIT_INTERNAL = 70
# Verbs that have nothing to bring to an end when a signal comes, such as a program that they profile.
_ONLY_READ = frozenset(
    ("analyze", "compare", "export", "kernels", "merge", "query", "report", "repro", "whatif")
)
_ENDING = (signal.SIGTERM, signal.SIGHUP)

_DESCRIPTION = "Why is a GPU program slow: records it, or reads what any profiler recorded."
_EPILOG = (
    "Start with: rocm-perf profile -- ./app, or rocm-perf analyze RECORDING. "
    "Exit codes: 0 done, 1 a check failed, 2 usage, 3 absent, 4 a fallback ran, 5 nothing captured, 6 unreadable."
)


class _Parser(Parser):
    """A parser that answers spellings of other tools by what to use instead."""

    verb = ""  # the one that is parsed

    def error(self, message: str) -> NoReturn:
        from rocm_perf.cli.foreign_spellings import refusal

        if (better := refusal(self.verb, message)) is not None:
            raise better
        super().error(message)


def build_parser(only: str | None = None) -> argparse.ArgumentParser:
    """The parser of all verbs; with the name of one in `only`, of that one alone, which is enough to run it."""
    parser = _Parser(prog="rocm-perf", description=_DESCRIPTION, epilog=_EPILOG)
    parser.verb = only or ""
    parser.add_argument("--version", action="version", version=f"rocm-perf {__version__}")
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", required=True)
    for name in (only,) if only in VERBS else VERBS:
        command = command_of(name)
        text = command.__doc__ or ""  # python -OO drops it
        verb = verbs.add_parser(name, help=text.partition("\n")[0].rstrip("."), description=text)
        command.prepare_parser(verb)
        verb.set_defaults(command=command)
    return parser


def command_of(verb: str) -> Command:
    """What runs a verb."""
    module, _, name = VERBS[verb].partition(":")
    command: Command = getattr(import_module(f"rocm_perf.cli.{module}"), name)()
    return command


class Ended(KeyboardInterrupt):
    """A signal asks us to end: as by Ctrl-C, so that whatever cleans up behind itself does."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number


def main(argv: Sequence[str] | None = None) -> int:
    """Run one verb; returns the exit code."""
    ready_streams()
    collect_seldom()
    take_turns_often()
    wait_for_children()
    arguments = sys.argv[1:] if argv is None else list(argv)
    try:
        args = _parsed(arguments)
        require_address_space()
        with _ending_signals(), ends_on_signals() if args.verb in _ONLY_READ else nullcontext():
            code: int = args.command.run(args)
            return _flushed(code)
    except RocmPerfError as error:
        say_error(error)
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
    except MemoryError:
        return _out_of_memory()
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


def _parsed(arguments: Sequence[str]) -> argparse.Namespace:
    """The verb and its options; raises where the first word looks like a verb and is none."""
    first = arguments[0] if arguments else ""
    if first and first not in VERBS and not first.startswith("-"):
        from difflib import get_close_matches

        from rocm_perf.cli.foreign_spellings import verb_of_another_tool

        if (foreign := verb_of_another_tool(first)) is not None:
            raise foreign
        near = get_close_matches(first, VERBS, n=3)
        meant = f"Did you mean {' or '.join(near)}? " if near else ""
        if os.path.exists(first):
            path = shlex.join(arguments)
            raise UsageError(
                f"{first!r} is a {'folder' if os.path.isdir(first) else 'file'}, not a verb",
                next_step=f"To read a recording: rocm-perf analyze {path}. `rocm-perf --help` lists all verbs.",
            )
        raise UsageError(f"there is no verb {first!r}", next_step=f"{meant}`rocm-perf --help` lists all.")
    return build_parser(first).parse_args(arguments)


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


def _out_of_memory() -> int:
    refusal = NotSupportedError(
        "this does not fit into memory",
        next_step="Read less (`analyze --window A..B` or `--in-parts`), or use a machine that has more.",
    )
    say(str(refusal))
    return refusal.exit_code


def _has_working_folder() -> bool:
    try:
        return os.path.isdir(os.getcwd())
    except OSError:
        return False


if __name__ == "__main__":
    sys.exit(main())
