"""rocprofv2 and rocprof are shell scripts without a `--`: which words they misread, and a way around it."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

from rocm_perf.backends.amd.profiler import NO_GPU, AmdProfiler
from rocm_perf.backends.base import DOMAINS, Domain, Wish
from rocm_perf.backends.machine import Machine

VERSION = r"ROCProfiler version:\s*([\d.]+)"  # as both print it
_PLAIN = re.compile(r"[\w@%+=:,./-]+", re.ASCII)


class ScriptProfiler(AmdProfiler):
    """One of the two scripts, which end with ROCm 7."""

    why = "it is the newest of AMD's profilers that works here"
    extras = ("counters",)
    flags: dict[Domain, str]  # the option for each domain; --hip-trace and --hsa-trace bring the copies along

    def app_refusal(self, app: tuple[str, ...], folder: Path, *, is_python: bool) -> str:  # noqa: ARG002
        blank = len(str(folder).split()) > 1
        return "its script does not take a folder with a blank in its name" if blank else ""

    def refusal(self, wish: Wish, machine: Machine) -> str:
        if wish.pc_sampling is not None:
            return f"{self.name} does not sample program counters"
        if wish.att:
            return "only rocprofv3 records thread traces"
        if not self.watches(machine):
            return NO_GPU
        script = machine.tools.get(self.tool)
        return "it is not on this machine (it ends with ROCm 7)" if script is None else script.problem

    def trace_options(self, wish: Wish) -> list[str]:
        """The options for the domains of a wish; copies alone need one of the two that bring them along."""
        options = [
            self.flags[domain] for domain in DOMAINS if domain in wish.domains and domain in self.flags
        ]
        if "copy" in wish.domains and not {"--hip-trace", "--hsa-trace"} & set(options):
            options.append("--hip-trace")
        return options

    def left_out(self, wish: Wish) -> Iterator[str]:
        """A line for each choice of what to record that only rocprofv3 has."""
        only_v3 = {
            "--kernel-include-regex": bool(wish.kernel_include),
            "--kernel-exclude-regex": bool(wish.kernel_exclude),
            "--kernel-iteration-range": bool(wish.iteration_range),
            "--collection-period": bool(wish.collection_period),
            "--selected-regions": wish.selected_regions,
            "--summary": wish.summary,
        }
        return (
            f"{flag} is left out: {self.name} does not know it" for flag, asked in only_v3.items() if asked
        )


def counter_file(wish: Wish, folder: Path) -> dict[str, str]:
    """The input file that names the counters, by its path; nothing where none are asked for."""
    return {f"{folder}/counters.txt": f"pmc: {' '.join(wish.counters)}\n"} if wish.counters else {}


def is_plain(word: str) -> bool:
    """Whether a shell leaves the word as it is."""
    return _PLAIN.fullmatch(word) is not None


def through_script(app: tuple[str, ...], folder: Path) -> tuple[tuple[str, ...], dict[str, str]]:
    """The same application, started by a file that holds its words quoted; and that file."""
    file = f"{folder}/application.sh"
    return ("/bin/sh", file), {file: f"exec {shlex.join(app)}\n"}
