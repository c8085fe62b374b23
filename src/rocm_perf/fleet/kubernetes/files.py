"""What the pods read, as the data of a ConfigMap: the configuration, the presets it names, and files with counters that
options and tools name. Their paths are rewritten to where the pods find them."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from importlib import resources
from pathlib import Path

from msgspec.structs import replace

from rocm_perf.collect.request.configuration import Configuration, ToolEntry, configured
from rocm_perf.errors import UsageError
from rocm_perf.files import read_text
from rocm_perf.fleet.job import CONFIGURATION_FILE, Job, recorded_part
from rocm_perf.fleet.kubernetes.names import data_key

MOUNTED = "/etc/rocm-perf"
RESULTS = "/results"  # where the pods record
SCRIPT_FILE = "run.sh"
_INPUT = ("-i", "--input")  # of the profilers: a file follows
_ENDINGS = (".txt", ".json", ".yaml", ".yml")  # of files with counters
MOST_BYTES = 1 << 20  # of a ConfigMap: the limit of Kubernetes


class PodFiles:
    """Files that are taken along, by their keys; each path gets one key, however often it is named."""

    def __init__(self, working_folder: Path, reserved: Iterable[str]) -> None:
        self.data: dict[str, str] = {}
        self._folder = working_folder
        self._reserved = tuple(reserved)
        self._keys: dict[Path, str] = {}

    def moved(self, words: Sequence[str]) -> tuple[str, ...]:
        """The words of options, with files in them where the pods see them."""
        before = ("", *words)
        return tuple(
            self._moved(word, certain=previous in _INPUT)
            for previous, word in zip(before, words, strict=False)
        )

    def _moved(self, word: str, *, certain: bool) -> str:
        """One word: FILE, @FILE or --option=FILE; `certain` says that it can be nothing else."""
        for mark in ("", "@", "="):
            before, _, name = word.partition(mark) if mark else ("", "", word)
            looks_so = certain or mark == "@" or "/" in name or name.endswith(_ENDINGS)
            if name and looks_so and (self._folder / name).is_file():
                return f"{before}{mark}{MOUNTED}/{self._key(self._folder / name)}"
        return word

    def _key(self, path: Path) -> str:
        if path not in self._keys:
            self._keys[path] = data_key(path.name, (*self.data, *self._reserved))
            self.data[self._keys[path]] = read_text(path)
        return self._keys[path]


def pod_job(job: Job) -> tuple[Job, dict[str, str]]:
    """The job as its pods see it, and the files that they read."""
    presets = _presets(job.configuration)
    files = PodFiles(Path(job.working_folder), (SCRIPT_FILE, CONFIGURATION_FILE, *presets))
    configuration = replace(
        job.configuration, tools=tuple(_tool(tool, files) for tool in job.configuration.tools)
    )
    profile = files.moved(job.profile)
    seen = replace(job, configuration=configuration, profile=profile, output=RESULTS)
    data = {**files.data, **presets}
    if text := recorded_part(configuration):
        data[CONFIGURATION_FILE] = text
    _check_size(data)
    return seen, data


def _tool(tool: ToolEntry, files: PodFiles) -> ToolEntry:
    """A tool whose cmd names files where the pods find them; a wrapper before its options stays as it is."""
    try:
        words = shlex.split(tool.cmd)
    except ValueError as error:
        raise UsageError(f"tools: the cmd of {tool.name} cannot be split into words", str(error)) from error
    first = next((place for place, word in enumerate(words) if word.startswith("-")), len(words))
    moved = [*words[:first], *files.moved(words[first:])]
    return tool if moved == words else replace(tool, cmd=shlex.join(moved))


def _presets(configuration: Configuration) -> dict[str, str]:
    """The presets that the tools name, as they are here: what was asked for stays with the job."""
    names = configured(configuration).preset.split("+")  # refuses a tool that nothing knows
    folder = resources.files("rocm_perf.collect.request") / "presets"
    return {
        f"preset-{name}.toml": (folder / f"{name}.toml").read_text(encoding="utf-8") for name in names if name
    }


def _check_size(data: dict[str, str]) -> None:
    size = sum(len(key) + len(text.encode()) for key, text in data.items())
    if size > MOST_BYTES:
        largest = max(data, key=lambda key: len(data[key]))
        raise UsageError(
            f"the files for the pods are too large for a ConfigMap: {size:,} bytes",
            f"at most {MOST_BYTES:,} are possible, and {largest} is the largest",
            "Put it into the image.",
        )
