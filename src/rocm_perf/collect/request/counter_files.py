"""Input files of the profilers: text with `pmc:` lines, and JSON or YAML with jobs, as `rocprofv3 -i` takes them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec

from rocm_perf.collect.request.yaml_text import read_yaml
from rocm_perf.errors import InputError
from rocm_perf.files import read_text

_TEXT = (".txt", ".text", "")
_YAML = (".yaml", ".yml")
_IGNORED = {"output_directory", "output_file", "sub_directory"}  # ours are decided elsewhere


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """One job of a file. Its other options are kept under their names."""

    counters: tuple[str, ...] = ()
    options: dict[str, Any] = {}


class InputFile(msgspec.Struct, frozen=True):
    """What a file asks for: counters pass by pass, and options that all of its jobs share."""

    passes: tuple[tuple[str, ...], ...]
    options: dict[str, Any] = {}


def read_input_file(path: Path) -> InputFile:
    """What a file asks for; its ending says which of the three kinds it is."""
    text = read_text(path)
    if path.suffix in _TEXT:
        return InputFile(_text_passes(text, path))
    if path.suffix in _YAML:
        return _combined(_jobs(read_yaml(text, str(path)), path), path)
    if path.suffix == ".json":
        return _combined(_jobs(_json(text, path), path), path)
    raise InputError(f"{path} is not an input file", f"{path.suffix} is none of .txt, .json, .yaml and .yml")


def split_names(texts: Iterable[str]) -> tuple[str, ...]:
    """The counters in texts, which separate them by blanks, by commas, or by both."""
    return tuple(name for text in texts for name in text.replace(",", " ").split())


def _text_passes(text: str, path: Path) -> tuple[tuple[str, ...], ...]:
    """The passes of a text: one for each `pmc:` line, or one in all where it holds nothing but counters."""
    lines = [bare for line in text.splitlines() if (bare := line.partition("#")[0].strip())]
    marked = [line.partition(":") for line in lines if line.partition(":")[1]]
    groups = [[names] for key, _, names in marked if key.strip() == "pmc"] if marked else [lines]
    passes = tuple(names for group in groups if (names := split_names(group)))
    if not passes:
        raise InputError(
            f"{path} names no counters", "it has no line such as `pmc: SQ_WAVES`", "Write one line per pass."
        )
    return passes


def _json(text: str, path: Path) -> Any:
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError) as error:
        raise InputError(f"{path} is not valid JSON", str(error)) from error


def _jobs(document: Any, path: Path) -> list[Job]:
    jobs = document.get("jobs") if isinstance(document, dict) else None
    if not isinstance(jobs, list) or not jobs:
        why = "it needs a list `jobs` of mappings, as rocprofv3 -i takes it"
        raise InputError(f"{path} has no jobs", why)
    return [_job(job, path, number) for number, job in enumerate(jobs)]


def _job(job: Any, path: Path, number: int) -> Job:
    try:
        options = msgspec.convert(job, dict[str, Any])
        names = msgspec.convert(options.pop("pmc", None) or [], list[str] | str)
    except msgspec.ValidationError as error:
        why = f"jobs[{number}] has to be a mapping of options, with names of counters as its pmc"
        raise InputError(f"{path}: {error}", why) from error
    kept = {name: value for name, value in options.items() if name not in _IGNORED}
    return Job(counters=split_names([names] if isinstance(names, str) else names), options=kept)


def _combined(jobs: list[Job], path: Path) -> InputFile:
    """All jobs as one recording; refused where they ask for different things."""
    shared = jobs[0].options
    for number, job in enumerate(jobs):
        if job.options != shared:
            names = sorted(
                name for name in {*job.options, *shared} if job.options.get(name) != shared.get(name)
            )
            why = f"jobs[{number}] differs from the first in {', '.join(names)}"
            raise InputError(f"{path}: its jobs cannot be one recording", why, "Run them one by one.")
    return InputFile(tuple(job.counters for job in jobs if job.counters), shared)
