"""Capturing: the environment that loads our library into the program, its run, and what it left behind."""

from __future__ import annotations

import difflib
import os
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from rocm_perf.collect.launch import Ended, launch
from rocm_perf.errors import EmptyCaptureError, OutputError, RocmPerfError, ToolAbsentError, UsageError
from rocm_perf.model.results.replay import CaptureReport, Vendor
from rocm_perf.replay import native
from rocm_perf.replay.errors import UncoveredError
from rocm_perf.replay.finish import Making, Say, draft_beside, finish, refuse_existing
from rocm_perf.replay.info import changed_bytes
from rocm_perf.replay.pattern import extended
from rocm_perf.replay.snapshot import Snapshot, read_json
from rocm_perf.units import format_count

_LISTED = 8  # names of kernels
_LONGEST = 120  # of such a name
_PREFIX = "ROCM_PERF_CAPTURE_"
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


class Account(msgspec.Struct, frozen=True, kw_only=True):
    """capture.json: what the library saw and did in one process."""

    version: int = 1
    state: str = "failed"
    reason: str = ""
    launches: int = 0
    matched: int = 0
    names_seen: dict[str, int] = {}
    not_seen: tuple[str, ...] = ()
    seconds: dict[str, float] = {}
    bytes: int = 0


@dataclass(frozen=True)
class Captured:
    """How a capture went. The application's own end is told apart from ours."""

    ended: Ended
    report: CaptureReport | None = None
    error: RocmPerfError | None = None


def chosen_vendor(wish: str, present: Sequence[Vendor]) -> Vendor:
    """By name, or the one whose GPUs are here."""
    named: dict[str, Vendor] = {"amd": "AMD", "nvidia": "NVIDIA"}
    if wish in named:
        return named[wish]
    if not present:
        raise ToolAbsentError(
            "there is no GPU here to capture from", next_step="--vendor names one all the same."
        )
    if len(present) > 1:
        raise UsageError(
            "both vendors' GPUs are here", next_step="Choose with --vendor amd or --vendor nvidia."
        )
    return present[0]


def settings(request: Request, library: Path, draft: Path) -> dict[str, str]:
    """The variables that make the program load the library, and tell the library what to do."""
    pattern = extended(request.kernel)
    words = {
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
    return {**loaders, **{f"{_PREFIX}{name}": value for name, value in words.items()}}


def check(request: Request, environment: Mapping[str, str]) -> None:
    """Refused before the program starts."""
    extended(request.kernel)
    for name in _LOADERS[request.vendor]:
        if environment.get(name):
            why = f"{name} is set to {environment[name]}"
            raise UsageError("another tool would be loaded into the program", why, f"Unset {name} first.")
    refuse_existing(request.output, request.force)


def capture(request: Request, say: Say, environment: Mapping[str, str] | None = None) -> Captured:
    """Run the program, and make a snapshot of what the library wrote."""
    variables = dict(os.environ if environment is None else environment)
    check(request, variables)
    library = native.part(request.vendor, "capture", variables)
    with draft_beside(request.output) as draft:
        ended = launch(
            request.command, {**variables, **settings(request, library, draft)}, watch_stderr=False
        )
        try:
            return Captured(ended, _finished(request, draft, ended, say))
        except RocmPerfError as error:
            return Captured(ended, error=error)


def _finished(request: Request, draft: Path, ended: Ended, say: Say) -> CaptureReport:
    accounts = _accounts(draft)
    captured = {folder: one for folder, one in accounts.items() if one.state == "captured"}
    if not captured:
        raise _nothing(request, draft, list(accounts.values()))
    begun = time.monotonic()
    snapshots = []
    for folder, account in captured.items():
        output = request.output if len(captured) == 1 else Path(f"{request.output}-{folder.name}")
        refuse_existing(output, request.force)
        making = Making(request.compress, request.outputs, account.not_seen)
        snapshots.append(finish(folder, output, making, say))
    return _report(snapshots, next(iter(captured.values())), time.monotonic() - begun, ended)


def _accounts(draft: Path) -> dict[Path, Account]:
    """Of every process that wrote one. One that died in the middle did not."""
    folders = sorted(folder for folder in draft.iterdir() if folder.is_dir() and folder.name.isdigit())
    written = [folder for folder in folders if (folder / "capture.json").is_file()]
    return {folder: read_json(folder / "capture.json", Account) for folder in written}


def _report(snapshots: Sequence[Snapshot], account: Account, store_s: float, ended: Ended) -> CaptureReport:
    first = snapshots[0]
    return CaptureReport(
        snapshots=tuple(str(one.folder) for one in snapshots),
        kernel=first.dispatch.kernel,
        name=first.dispatch.name,
        dispatch=first.dispatch.dispatch,
        launch=first.dispatch.launch,
        launches=account.launches,
        matched=account.matched,
        raw_bytes=first.manifest.raw_bytes,
        stored_bytes=first.manifest.stored_bytes,
        changed_bytes=changed_bytes(first),
        regions=len(first.saved),
        uncovered=first.manifest.uncovered,
        not_seen=account.not_seen,
        seconds={**account.seconds, "store": round(store_s, 3)},
        application_status=ended.status,
    )


def _nothing(request: Request, draft: Path, accounts: Sequence[Account]) -> RocmPerfError:
    """Why there is no snapshot."""
    for account in accounts:
        if account.state == "refused":
            return UncoveredError(
                "the kernel was not captured", account.reason, "--allow-uncovered captures it all the same."
            )
        if account.state == "failed":
            return OutputError("the capture failed", account.reason)
    if not accounts:
        begun = any(folder.is_dir() for folder in draft.iterdir())
        why = (
            "the program ended in the middle of it"
            if begun
            else "the program started no kernel, or used no GPU"
        )
        return EmptyCaptureError("nothing was captured", why)
    return _no_match(request, accounts)


def _no_match(request: Request, accounts: Sequence[Account]) -> EmptyCaptureError:
    launches, matched = (sum(getattr(one, name) for one in accounts) for name in ("launches", "matched"))
    unseen = [words for account in accounts for words in account.not_seen]
    if matched:
        what = f"--kernel {request.kernel!r} matched {format_count(matched, 'dispatch', 'dispatches')}"
        return EmptyCaptureError(what, f"number {request.dispatch} was asked for", "; ".join(unseen))
    what = f"no kernel matched {request.kernel!r} in {format_count(launches, 'launch', 'launches')}"
    seen = ranked_names(request.kernel, accounts)
    listed = "; ".join(
        f"{_cropped(name)} ({format_count(count, 'launch', 'launches')})" for name, count in seen[:_LISTED]
    )
    more = f"; and {len(seen) - _LISTED} more" if len(seen) > _LISTED else ""
    return EmptyCaptureError(what, f"seen: {listed}{more}" if seen else "there were none", "; ".join(unseen))


def _cropped(name: str) -> str:
    return name if len(name) <= _LONGEST else f"{name[:_LONGEST]}…"


def ranked_names(pattern: str, accounts: Sequence[Account]) -> list[tuple[str, int]]:
    """Kernels that were launched: those whose name resembles the pattern first, then by number of launches."""
    counts: dict[str, int] = {}
    for account in accounts:
        for name, count in account.names_seen.items():
            counts[name] = counts.get(name, 0) + count
    words = _words(pattern)

    def likeness(name: str) -> float:
        return max((_alike(word, part) for word in words for part in set(_words(name))), default=0.0)

    return sorted(counts.items(), key=lambda item: (-round(likeness(item[0]), 1), -item[1], item[0]))


def _words(text: str) -> list[str]:
    return re.findall(r"[a-z]{3,}", text.lower())


def _alike(word: str, part: str) -> float:
    ratio = difflib.SequenceMatcher(None, word, part).ratio()
    return ratio if ratio >= 0.6 else 0.0
