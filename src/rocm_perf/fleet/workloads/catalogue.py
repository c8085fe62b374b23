"""The catalogue: which workloads are known. One is shipped, and a file in the working folder adds to it; `models.json`,
the catalogue of other benchmark runners, is understood as well."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from importlib import resources
from pathlib import Path
from typing import Any

import msgspec

from rocm_perf.arch.toml import read_toml
from rocm_perf.errors import InputError, UsageError
from rocm_perf.files import read_text
from rocm_perf.fleet.workloads.workload import Workload, workload_of

OWN_FILES = ("workloads.toml", "models.json")  # looked for in the working folder
_MOST_NAMED = 12  # names in a message


def catalogue(given: Path | None, working_folder: Path) -> tuple[Workload, ...]:
    """Every workload by its name: those of the given file, or else of one in the working folder, and the shipped."""
    own = [given] if given else [working_folder / name for name in OWN_FILES]
    files = [path for path in own if given or path.is_file()]
    known = {each.name: each for each in shipped()}
    for path in reversed(files):  # the first file has the last word
        known |= {each.name: each for each in read_catalogue(path)}
    return tuple(known.values())


def shipped() -> tuple[Workload, ...]:
    """The workloads that come with rocm-perf."""
    return read_catalogue(Path(str(resources.files("rocm_perf.fleet.workloads") / "shipped/catalogue.toml")))


def read_catalogue(path: Path) -> tuple[Workload, ...]:
    """The workloads of a file: TOML with [[workload]] tables, or JSON with a list of them."""
    text = read_text(path)
    strict = path.suffix == ".toml"
    document = read_toml(text.encode(), str(path)) if strict else _json(text, path)
    entries = document.get("workload") if isinstance(document, dict) else document
    if not isinstance(entries, list) or not entries:
        why = "it needs [[workload]] tables" if strict else "it needs a list of workloads"
        raise InputError(f"{path} names no workload", why)
    folder = str(path.absolute().parent)
    read = [
        workload_of(entry, f"{path}, workload {number}", folder, strict=strict)
        for number, entry in enumerate(entries, 1)
    ]
    return _without_doubles(read, path)


def chosen(workloads: Iterable[Workload], tags: Iterable[str]) -> tuple[Workload, ...]:
    """The workloads that have one of the tags, or are called so; a tag that none has is refused with the nearest."""
    known = tuple(workloads)
    wanted: dict[str, Workload] = {}
    for tag in dict.fromkeys(part for given in tags for part in given.split(",") if part):
        having = [each for each in known if tag == each.name or tag in each.tags]
        if not having:
            raise _unknown(tag, known)
        wanted |= {each.name: each for each in having}
    return tuple(wanted.values())


def _unknown(tag: str, known: tuple[Workload, ...]) -> UsageError:
    names = list(dict.fromkeys(name for each in known for name in (each.name, *each.tags)))
    near = difflib.get_close_matches(tag[:80], names, n=3, cutoff=0.5)
    why = f"the nearest {'is' if len(near) == 1 else 'are'} {', '.join(near)}" if near else ""
    shown = ", ".join(each.name for each in known[:_MOST_NAMED])
    more = f" and {len(known) - _MOST_NAMED} more" if len(known) > _MOST_NAMED else ""
    return UsageError(
        f"no workload is called or tagged {tag[:80]!r}", why, f"Known: {shown}{more} (rocm-perf run --list)."
    )


def _json(text: str, path: Path) -> Any:
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError) as error:
        raise InputError(f"{path} is not valid JSON", str(error)) from error


def _without_doubles(workloads: list[Workload], path: Path) -> tuple[Workload, ...]:
    names = [each.name for each in workloads]
    if double := next((name for name in names if names.count(name) > 1), None):
        raise InputError(f"{path} has two workloads called {double!r}", next_step="Rename one of them.")
    return tuple(workloads)
