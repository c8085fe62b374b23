"""Input files of rocprofv3: text with `pmc:` lines, and JSON or YAML with jobs. The result is a list of jobs, each a
dictionary of options under their long names with `_`."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any, NoReturn

Job = dict[str, Any]


def fatal(message: str) -> NoReturn:
    print(f"[rocprofv3] Fatal error: {message}", file=sys.stderr)
    raise SystemExit(1)


def warn(message: str) -> None:
    print(f"[rocprofv3] Warning: {message}", file=sys.stderr)


def read_jobs(path: str, *, text_deprecated: bool) -> list[Job]:
    suffix = Path(path).suffix
    if suffix not in (".txt", ".text", ".json", ".yaml", ".yml"):
        fatal(f"Input file '{path}' does not have a recognized extension (.txt, .json, .yaml, .yml)\n")
    try:
        content = Path(path).read_text()
        if suffix in (".txt", ".text"):
            if text_deprecated:
                warn(
                    "Text file format for counter collection is deprecated and will be removed in a future release."
                )
            return [{"pmc": names, "sub_directory": "pmc_"} for names in _text_lines(content)]
        document = json.loads(content) if suffix == ".json" else _yaml(content)
        return [{**job, "sub_directory": "pass_"} for job in document["jobs"]]
    except (OSError, ValueError, KeyError, TypeError) as error:
        fatal(str(error))


def _text_lines(content: str) -> list[list[str]]:
    """`pmc:` exactly; `pmc :`, as rocprof takes it, is no such line here."""
    bare = (line.partition("#")[0] for line in content.splitlines())
    return [line.replace("pmc:", "").split() for line in bare if "pmc:" in line]


def _yaml(content: str) -> dict[str, list[Job]]:
    """As much of YAML as such files use: one list of jobs with scalars and lists."""
    jobs: list[Job] = []
    key = ""
    for line in content.splitlines():
        text = line.partition("#")[0].rstrip()
        indent, word = len(text) - len(text.lstrip()), text.strip()
        if not word or word == "jobs:":
            continue
        if word.startswith("- ") and ":" not in word:
            jobs[-1].setdefault(key, []).append(_scalar(word[2:]))
            continue
        if word.startswith("-") and (indent <= 4 or not jobs):
            jobs.append({})
        name, colon, value = word.removeprefix("-").strip().partition(":")
        if not jobs or (not colon and name):
            raise ValueError(f"mapping values are not allowed here: {line!r}")
        key = name.strip()
        if value.strip():
            jobs[-1][key] = _scalar(value)
    if not content.lstrip().startswith("jobs:"):
        raise KeyError("jobs")
    return {"jobs": jobs}


def _scalar(text: str) -> object:
    word = text.strip()
    if word.startswith("["):
        return [_scalar(part) for part in word.strip("[]").split(",") if part.strip()]
    if word.lower() in ("true", "yes", "on", "false", "no", "off"):
        return word.lower() in ("true", "yes", "on")
    return int(word) if word.isdigit() else word.strip("\"'")
