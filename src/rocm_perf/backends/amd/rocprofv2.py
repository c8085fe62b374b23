"""rocprofv2, ROCm 5.5 to 7: one plugin a run, no `--` before the application."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from rocm_perf.backends.amd.chips import release
from rocm_perf.backends.amd.scripts import absence, through_script
from rocm_perf.backends.base import DOMAINS, Command, Domain, Wish
from rocm_perf.backends.machine import Machine

NAME = "rocprofv2"
# --hip-trace and --hsa-trace bring the copies along.
_FLAGS: dict[Domain, str] = {
    "kernel": "--kernel-trace",
    "hip": "--hip-trace",
    "hsa": "--hsa-trace",
    "marker": "--roctx-trace",
}
_KERNELS_ONLY = "rocprofv2 since ROCm 6.2 mostly records kernels alone"


class Rocprofv2Profiler:
    """AMD's profiler before rocprofv3."""

    name = NAME

    def refusal(self, wish: Wish, machine: Machine) -> str:
        if wish.pc_sampling is not None:
            return "rocprofv2 does not sample program counters"
        if wish.att:
            return "thread traces are recorded with rocprofv3 alone"
        return absence(machine, NAME)

    def dropped(self, wish: Wish, machine: Machine) -> tuple[str, ...]:  # noqa: ARG002
        return tuple(
            f"{domain} trace: rocprofv2 has none"
            for domain in wish.domains
            if domain not in _FLAGS and domain != "copy"
        )

    def command(self, wish: Wish, app: tuple[str, ...], folder: Path, machine: Machine) -> Command:
        path = str(folder)
        counters = f"{path}/counters.txt"
        files = {counters: f"pmc: {' '.join(wish.counters)}\n"} if wish.counters else {}
        words, script = through_script(app, folder) if app[0].startswith("-") else (app, {})
        plugin = "perfetto" if "pftrace" in wish.formats and not wish.counters else "file"
        argv = [
            machine.tools[NAME].path,
            *_traces(wish),
            *(("-i", counters) if wish.counters else ()),
            *("--plugin", plugin, "-d", path, "-o", wish.output_name or "results"),
            *wish.tool_args,
        ]
        return Command(
            argv=(*argv, *words),
            files={**files, **script},
            expected=("**/*.pftrace",) if plugin == "perfetto" else ("**/*.csv",),
            notices=tuple(_notices(wish, machine, plugin)),
        )


def _traces(wish: Wish) -> list[str]:
    flags = [_FLAGS[domain] for domain in DOMAINS if domain in wish.domains and domain in _FLAGS]
    if "copy" in wish.domains and not {"--hip-trace", "--hsa-trace"} & set(flags):
        flags.append("--hip-trace")
    return flags


def _notices(wish: Wish, machine: Machine, plugin: str) -> Iterator[str]:
    if set(wish.domains) - {"kernel"} and release(machine, NAME) >= (6, 2):
        yield _KERNELS_ONLY
    others = [each for each in wish.formats if each not in ("csv", "pftrace")]
    if plugin == "perfetto" and "csv" in wish.formats:
        others.append("csv")
    if others:
        written = "pftrace" if plugin == "perfetto" else "csv"
        yield f"rocprofv2 writes one format a run: {written}, not {', '.join(others)}"
    yield from left_out(wish, NAME)


def left_out(wish: Wish, tool: str) -> Iterator[str]:
    """The choices of what to record that only rocprofv3 has."""
    only_v3 = {
        "--kernel-include-regex": bool(wish.kernel_include),
        "--kernel-exclude-regex": bool(wish.kernel_exclude),
        "--kernel-iteration-range": bool(wish.iteration_range),
        "--collection-period": bool(wish.collection_period),
        "--selected-regions": wish.selected_regions,
        "--summary": wish.summary,
    }
    for flag, asked in only_v3.items():
        if asked:
            yield f"{flag} is left out: {tool} does not know it"
