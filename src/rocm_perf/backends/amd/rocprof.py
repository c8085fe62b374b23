"""rocprof, up to ROCm 7: counters from a file, results in CSV files and a Chrome trace.

Its script pastes the application's words into a line that a shell evaluates (rpl_run.sh), so that words with blanks or
other characters of the shell's go through a file instead. It pipes the application through `tee`: the exit code is the
script's own, and the application's stderr arrives on its stdout.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from rocm_perf.backends.amd.rocprofv2 import left_out
from rocm_perf.backends.amd.scripts import absence, is_plain, through_script
from rocm_perf.backends.base import DOMAINS, Command, Domain, Wish
from rocm_perf.backends.machine import Machine

NAME = "rocprof"
# Kernels are always recorded; --hip-trace and --hsa-trace bring the copies along.
_FLAGS: dict[Domain, str] = {"hip": "--hip-trace", "hsa": "--hsa-trace", "marker": "--roctx-trace"}
_JOINED = "rocprof writes the application's stderr to its stdout"


class RocprofProfiler:
    """AMD's first profiler."""

    name = NAME

    def refusal(self, wish: Wish, machine: Machine) -> str:
        if wish.pc_sampling is not None:
            return "rocprof does not sample program counters"
        if wish.att:
            return "thread traces are recorded with rocprofv3 alone"
        return absence(machine, NAME)

    def dropped(self, wish: Wish, machine: Machine) -> tuple[str, ...]:  # noqa: ARG002
        return tuple(
            f"{domain} trace: rocprof has none"
            for domain in wish.domains
            if domain not in _FLAGS and domain not in ("kernel", "copy")
        )

    def command(self, wish: Wish, app: tuple[str, ...], folder: Path, machine: Machine) -> Command:
        path = str(folder)
        counters = f"{path}/counters.txt"
        files = {counters: f"pmc: {' '.join(wish.counters)}\n"} if wish.counters else {}
        misread = app[0].startswith("-") or not all(map(is_plain, app))
        words, script = through_script(app, folder) if misread else (app, {})
        argv = [
            machine.tools[NAME].path,
            *_traces(wish),
            *(("-i", counters, "--timestamp", "on") if wish.counters else ("--stats",)),
            *("-o", f"{path}/results.csv"),
            *wish.tool_args,
        ]
        return Command(
            argv=(*argv, *words),
            files={**files, **script},
            expected=("results.csv", "results.json") if _traces(wish) else ("results.csv",),
            notices=tuple(_notices(wish)),
            separates_exit_code=False,
        )


def _traces(wish: Wish) -> list[str]:
    flags = [_FLAGS[domain] for domain in DOMAINS if domain in wish.domains and domain in _FLAGS]
    if "copy" in wish.domains and not {"--hip-trace", "--hsa-trace"} & set(flags):
        flags.append("--hip-trace")
    return flags


def _notices(wish: Wish) -> Iterator[str]:
    yield _JOINED
    if others := [each for each in wish.formats if each not in ("csv", "json")]:
        yield f"rocprof writes csv and a Chrome trace, not {', '.join(others)}"
    if wish.output_name:
        yield "-o is left out: rocprof knows no %keys%"
    yield from left_out(wish, NAME)
