"""Input files of the profilers: text with `pmc:` lines, and JSON or YAML with jobs, as `rocprofv3 -i` takes them.

Of YAML only what such files use is read (a list of jobs with values and lists of values); the rest is refused by line.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec

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
    """Any of the three kinds, told by its ending."""
    text = read_text(path)
    if path.suffix in _TEXT:
        return InputFile(_text_passes(text, path))
    if path.suffix in _YAML:
        return _combined(_jobs(_yaml(text, path), path), path)
    if path.suffix == ".json":
        return _combined(_jobs(_json(text, path), path), path)
    raise InputError(f"{path} is no input file", f"{path.suffix} is none of .txt, .json, .yaml and .yml")


def split_names(words: Iterable[str]) -> tuple[str, ...]:
    """Counters as they are written: by blanks, by commas, or both."""
    return tuple(name for word in words for name in word.replace(",", " ").split())


def _text_passes(text: str, path: Path) -> tuple[tuple[str, ...], ...]:
    """A `pmc:` line each, or counters alone, a pass in all."""
    lines = [bare for line in text.splitlines() if (bare := line.partition("#")[0].strip())]
    marked = [line.partition(":") for line in lines if line.partition(":")[1]]
    groups = [[names] for key, _, names in marked if key.strip() == "pmc"] if marked else [lines]
    passes = tuple(names for group in groups if (names := split_names(group)))
    if not passes:
        raise InputError(
            f"{path} names no counters", "it has no line such as `pmc: SQ_WAVES`", "Write one line a pass."
        )
    return passes


def _json(text: str, path: Path) -> Any:
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError) as error:
        raise InputError(f"{path} is not valid JSON", str(error)) from error


def _jobs(document: Any, path: Path) -> list[Job]:
    jobs = document.get("jobs") if isinstance(document, dict) else None
    if not isinstance(jobs, list) or not jobs or not all(isinstance(job, dict) for job in jobs):
        raise InputError(
            f"{path} has no jobs", "it wants a list `jobs` of mappings, as rocprofv3 -i takes it"
        )
    return [_job(job, path, number) for number, job in enumerate(jobs)]


def _job(job: dict[str, Any], path: Path, number: int) -> Job:
    try:
        names = msgspec.convert(job.get("pmc", []), list[str] | str)
    except msgspec.ValidationError as error:
        raise InputError(f"{path}: {error}", f"jobs[{number}].pmc wants names of counters") from error
    options = {name: value for name, value in job.items() if name != "pmc" and name not in _IGNORED}
    return Job(counters=split_names([names] if isinstance(names, str) else names), options=options)


def _combined(jobs: list[Job], path: Path) -> InputFile:
    shared = jobs[0].options
    for number, job in enumerate(jobs):
        if job.options != shared:
            names = sorted(
                name for name in {*job.options, *shared} if job.options.get(name) != shared.get(name)
            )
            why = f"jobs[{number}] differs from the first in {', '.join(names)}"
            raise InputError(f"{path}: its jobs cannot be one recording", why, "Run them one by one.")
    return InputFile(tuple(job.counters for job in jobs if job.counters), shared)


def _yaml(text: str, path: Path) -> dict[str, list[dict[str, Any]]]:
    reader = _YamlJobs(path)
    for number, line in enumerate(text.splitlines(), 1):
        bare = _without_comment(line)
        if bare.strip() and bare.strip() != "---":
            reader.take(bare, number)
    return {"jobs": reader.jobs}


def _without_comment(line: str) -> str:
    """A `#` begins a comment at the start of a line or behind a blank."""
    if line.lstrip().startswith("#"):
        return ""
    return line.partition(" #")[0].rstrip()


class _YamlJobs:
    """`jobs:`, then `- key: value` a job, `key: value` lines, and `- value` lines of a list that a key begins."""

    def __init__(self, path: Path) -> None:
        self.jobs: list[dict[str, Any]] = []
        self._path = path
        self._begun = False
        self._list: list[Any] | None = None  # of the last key without a value
        self._indent = -1  # of the dashes of the jobs

    def take(self, line: str, number: int) -> None:
        word, indent = line.strip(), len(line) - len(line.lstrip())
        if not self._begun:
            self._begin(word, number)
        elif word == "-" or (word.startswith("- ") and (self._indent < 0 or indent == self._indent)):
            self._indent = indent
            self.jobs.append({})
            self._list = None
            if word != "-":
                self._pair(word[2:].strip(), number)
        elif word.startswith("- "):
            if self._list is None:
                raise self._refused(number, "a list that no key begins")
            self._list.append(self._value(word[2:], number))
        elif indent <= self._indent:
            raise self._refused(number, "nothing may follow the list of jobs")
        else:
            self._pair(word, number)

    def _begin(self, word: str, number: int) -> None:
        if word != "jobs:":
            raise self._refused(number, "such a file begins with `jobs:`")
        self._begun = True

    def _pair(self, word: str, number: int) -> None:
        key, colon, value = word.partition(":")
        if not colon or not self.jobs or (value and not value.startswith(" ")):
            raise self._refused(number, "this is no `key: value`")
        if value.strip():
            self._list = None
            self.jobs[-1][key.strip()] = self._value(value, number)
        else:
            self._list = self.jobs[-1][key.strip()] = []

    def _value(self, text: str, number: int) -> Any:
        word = text.strip()
        if word.startswith("["):
            if not word.endswith("]"):
                raise self._refused(number, "a list has to end on its line")
            return [self._value(part, number) for part in word[1:-1].split(",") if part.strip()]
        if len(word) > 1 and word[0] == word[-1] and word[0] in "'\"":
            return word[1:-1]
        if word[:1] in tuple("{&*!|>@`'\""):
            raise self._refused(number, "only plain values and lists of them are read")
        if word.lower() in ("true", "yes", "on", "false", "no", "off"):
            return word.lower() in ("true", "yes", "on")
        return int(word) if word.lstrip("-").isdigit() else word

    def _refused(self, number: int, why: str) -> InputError:
        return InputError(f"{self._path}, line {number}, cannot be read", why, "Write it as JSON instead.")
