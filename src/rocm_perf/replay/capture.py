"""Capturing: the environment that loads our library into the program, its run, and what it left behind."""

from __future__ import annotations

import difflib
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from rocm_perf import user_program
from rocm_perf.collect.run.launch import Ended, launch
from rocm_perf.errors import EmptyCaptureError, OutputError, RocmPerfError, ToolAbsentError, UsageError
from rocm_perf.model.results.replay import CaptureReport
from rocm_perf.model.vendor import Vendor
from rocm_perf.replay import native
from rocm_perf.replay.errors import UncoveredError
from rocm_perf.replay.finish import Making, Say, draft_beside, finish, refuse_existing
from rocm_perf.replay.info import changed_bytes
from rocm_perf.replay.json_files import read_json
from rocm_perf.replay.pattern import extended
from rocm_perf.replay.snapshot import Snapshot
from rocm_perf.units import format_count

_STDERR = 2
_PREFIX = "ROCM_PERF_CAPTURE_"
_ACCOUNT = "capture.json"
# What makes the vendor's runtime load a library.
_LOADERS: Mapping[Vendor, tuple[str, ...]] = {
    "AMD": ("HSA_TOOLS_LIB", "ROCP_TOOL_LIBRARIES"),
    "NVIDIA": ("CUDA_INJECTION64_PATH",),
}


@dataclass(frozen=True)
class Request:
    """What to capture, and where to."""

    command: tuple[str, ...]
    kernel: str  # regular expression
    output: Path
    vendor: Vendor
    dispatch: int = 1  # among those that match
    outputs: bool = True
    reachable_only: bool = False
    stop_after: bool = False
    allow_uncovered: bool = False
    compress: bool = True
    force: bool = False
    stdout_to_stderr: bool = False  # the program's; its own place is left to the report


Launch = Callable[[tuple[str, ...], Mapping[str, str]], Ended]  # a command, with all of its environment


class NoMatchError(EmptyCaptureError):
    """Kernels were launched, and none was the one that was asked for."""

    def __init__(self, what: str, why: str, next_step: str, seen: Sequence[tuple[str, int]] = ()) -> None:
        super().__init__(what, why, next_step)
        self.seen = seen  # names and launches, the most likely first


class Account(msgspec.Struct, frozen=True, kw_only=True):
    """capture.json: what the library saw and did in one process."""

    version: int = 1
    state: str = "failed"
    reason: str = ""
    launches: int = 0
    matched: int = 0
    names_seen: dict[str, int] = {}
    shapes_seen: tuple[int, ...] = ()  # the first matching launch of each shape, by its number
    not_seen: tuple[str, ...] = ()
    seconds: dict[str, float] = {}
    bytes: int = 0


class TooFewMatchesError(EmptyCaptureError):
    """The kernel was launched, but not as often as was asked for."""

    def __init__(self, what: str, why: str, next_step: str, accounts: Sequence[Account]) -> None:
        super().__init__(what, why, next_step)
        self.matched = max(account.matched for account in accounts)  # in one process
        self.shapes = next(one.shapes_seen for one in accounts if one.matched == self.matched)


@dataclass(frozen=True)
class Captured:
    """How a capture went. The application's own end is told apart from ours."""

    ended: Ended
    report: CaptureReport | None = None
    error: RocmPerfError | None = None


def chosen_vendor(wish: str, present: Sequence[Vendor]) -> Vendor:
    """The vendor of that name, or the one whose GPUs are in this machine."""
    named: dict[str, Vendor] = {"amd": "AMD", "nvidia": "NVIDIA"}
    if wish in named:
        return named[wish]
    if not present:
        raise ToolAbsentError(
            "no GPU was found to capture from",
            next_step="If there is one, name its vendor: --vendor amd or --vendor nvidia.",
        )
    if len(present) > 1:
        raise UsageError(
            "this machine has GPUs of both vendors",
            next_step="Choose one with --vendor amd or --vendor nvidia.",
        )
    return present[0]


def settings(request: Request, library: Path, draft: Path) -> dict[str, str]:
    """The variables that make the program load the library, and tell the library what to do."""
    pattern = extended(request.kernel)
    values = {
        "DIR": str(draft),
        "KERNEL": pattern.text,
        "IGNORE_CASE": str(int(pattern.ignore_case)),
        "DISPATCH": str(request.dispatch),
        "OUTPUTS": str(int(request.outputs)),
        "REACHABLE_ONLY": str(int(request.reachable_only)),
        "STOP_AFTER": str(int(request.stop_after)),
        "ALLOW_UNCOVERED": str(int(request.allow_uncovered)),
    }
    loaders = dict.fromkeys(_LOADERS[request.vendor], str(library))
    return {**loaders, **{f"{_PREFIX}{name}": value for name, value in values.items()}}


def check(request: Request, environment: Mapping[str, str]) -> None:
    """Refuse, before the program starts, what cannot be captured or written."""
    extended(request.kernel)
    for name in _LOADERS[request.vendor]:
        if environment.get(name):
            why = f"{name} is set to {environment[name]}"
            raise UsageError("another tool would be loaded into the program", why, f"Unset {name} first.")
    refuse_existing(request.output, request.force)


def capture(
    request: Request,
    say: Say,
    environment: Mapping[str, str] | None = None,
    launched: Launch | None = None,
) -> Captured:
    """Run the program, and make a snapshot of what the library wrote. `launched` runs it in another way than with our
    own input and output."""
    variables = dict(user_program.environment() if environment is None else environment)
    check(request, variables)
    library = native.part(request.vendor, "capture", variables)
    with draft_beside(request.output) as draft:
        everything = {**variables, **settings(request, library, draft)}
        ended = launched(request.command, everything) if launched else _launched(request, everything)
        try:
            return Captured(ended, _finished(request, draft, ended, say))
        except RocmPerfError as error:
            return Captured(ended, error=error)


def _launched(request: Request, environment: Mapping[str, str]) -> Ended:
    stdout = _STDERR if request.stdout_to_stderr else None
    return launch(request.command, environment, stdout=stdout, watch_stderr=False)


def _finished(request: Request, draft: Path, ended: Ended, say: Say) -> CaptureReport:
    accounts = _accounts(draft)
    captured = {folder: one for folder, one in accounts.items() if one.state == "captured"}
    if not captured:
        raise _nothing(request, draft, accounts, ended)
    begun = time.monotonic()
    snapshots = []
    for folder, account in captured.items():
        output = request.output if len(captured) == 1 else Path(f"{request.output}-{folder.name}")
        refuse_existing(output, request.force)
        making = Making(
            compress=request.compress, outputs=request.outputs, notes=account.not_seen, force=request.force
        )
        snapshots.append(finish(folder, output, making, say))
    return _report(snapshots, list(captured.values()), time.monotonic() - begun, ended)


def _processes(draft: Path) -> list[Path]:
    """The folders of the processes that the library was loaded into."""
    return sorted(folder for folder in draft.iterdir() if folder.is_dir() and folder.name.isdigit())


def _accounts(draft: Path) -> dict[Path, Account]:
    """The accounts of the processes that wrote one. A process that died in the middle did not."""
    written = [folder for folder in _processes(draft) if (folder / _ACCOUNT).is_file()]
    return {folder: read_json(folder / _ACCOUNT, Account) for folder in written}


def _report(
    snapshots: Sequence[Snapshot], accounts: Sequence[Account], store_s: float, ended: Ended
) -> CaptureReport:
    """The report on all snapshots together; its time is that of the process that was held up longest."""
    first = snapshots[0]
    longest = max(accounts, key=lambda account: sum(account.seconds.values()))
    changed = [changed_bytes(one) for one in snapshots]
    return CaptureReport(
        snapshots=tuple(str(one.folder) for one in snapshots),
        kernel=first.dispatch.kernel,
        name=first.dispatch.name,
        dispatch=first.dispatch.dispatch,
        launch=first.dispatch.launch,
        launches=sum(account.launches for account in accounts),
        matched=sum(account.matched for account in accounts),
        raw_bytes=sum(one.manifest.raw_bytes for one in snapshots),
        stored_bytes=sum(one.manifest.stored_bytes for one in snapshots),
        changed_bytes=None if None in changed else sum(size or 0 for size in changed),
        regions=sum(len(one.saved) for one in snapshots),
        uncovered=tuple(text for one in snapshots for text in one.manifest.uncovered),
        not_seen=tuple(dict.fromkeys(note for account in accounts for note in account.not_seen)),
        seconds={**longest.seconds, "store": round(store_s, 3)},
        application_status=ended.status,
    )


def _nothing(request: Request, draft: Path, accounts: Mapping[Path, Account], ended: Ended) -> RocmPerfError:
    """The error that says why there is no snapshot."""
    for account in accounts.values():
        if account.state == "refused":
            return UncoveredError(
                "the kernel was not captured", account.reason, "--allow-uncovered captures it all the same."
            )
        if account.state == "failed":
            return OutputError("the capture failed", account.reason)
    silent = [folder for folder in _processes(draft) if folder not in accounts]
    if any(_was_saving(folder) for folder in silent) or (silent and not accounts):
        return _no_account(request, ended)
    if not accounts:
        return EmptyCaptureError("nothing was captured", "the program started no kernel, or used no GPU")
    return _no_match(request, list(accounts.values()))


def _was_saving(folder: Path) -> bool:
    return any((folder / name).exists() for name in ("memory", f"{_ACCOUNT}.part"))


def _no_account(request: Request, ended: Ended) -> RocmPerfError:
    """The error for a library that left no account. If the program ended well, it could not write, not even why."""
    if ended.status:
        return EmptyCaptureError("nothing was captured", "the program ended in the middle of it")
    folder = request.output.absolute().parent
    return OutputError(
        "the capture failed",
        f"nothing could be written to {folder}, not even why: its disk may be full",
        "Make room there, or choose another folder with -o.",
    )


def _no_match(request: Request, accounts: Sequence[Account]) -> EmptyCaptureError:
    launches, matched = (sum(getattr(one, name) for one in accounts) for name in ("launches", "matched"))
    unseen = "; ".join(dict.fromkeys(note for account in accounts for note in account.not_seen))
    if matched:
        what = f"--kernel {request.kernel!r} matched {format_count(matched, 'dispatch', 'dispatches')}"
        return TooFewMatchesError(what, f"number {request.dispatch} was asked for", unseen, accounts)
    seen = ranked_names(request.kernel, accounts)
    if unseen and any(re.search(request.kernel, name) for name, _ in seen):  # as parts of graphs
        return EmptyCaptureError(f"nothing that matched {request.kernel!r} could be captured", unseen)
    among = f"{format_count(launches, 'launch', 'launches')} of {format_count(len(seen), 'kernel')}"
    what = f"no kernel matched {request.kernel!r}"
    why = f"there were {among if seen else 'none'}"
    return NoMatchError(what=what, why=why, next_step=unseen, seen=seen)


def ranked_names(pattern: str, accounts: Sequence[Account]) -> list[tuple[str, int]]:
    """Kernels that were launched: those whose name resembles the pattern first, then by number of launches."""
    counts: dict[str, int] = {}
    for account in accounts:
        for name, count in account.names_seen.items():
            counts[name] = counts.get(name, 0) + count
    wanted = _words(pattern)

    def likeness(name: str) -> float:
        return max((_alike(word, part) for word in wanted for part in set(_words(name))), default=0.0)

    return sorted(counts.items(), key=lambda item: (-round(likeness(item[0]), 1), -item[1], item[0]))


def _words(text: str) -> list[str]:
    return re.findall(r"[a-z]{3,}", text.lower())


def _alike(word: str, part: str) -> float:
    ratio = difflib.SequenceMatcher(None, word, part).ratio()
    return ratio if ratio >= 0.6 else 0.0
