"""Writes the packaged table of counters from AMD's public definition files.

python scripts/make_counter_tables.py 6.3=DEFS.yaml.gz 7.0=DEFS.yaml.gz --list-avail LIST.json [-o definitions.tsv]
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import tomli
import yaml

DATA = Path(__file__).parents[1] / "src" / "rocm_perf" / "arch" / "counters"
COLUMNS = ("counter", "block", "expression", "rocm", "gfx", "description")
WIDTH = 90  # of a description


class Definition(NamedTuple):
    """One counter on one chip in one release."""

    counter: str
    block: str
    expression: str
    rocm: str
    gfx: str
    description: str


def main(arguments: list[str] | None = None) -> None:
    """Read the definitions of every release that is named, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "definitions", metavar="RELEASE=FILE", nargs="+", help="counter_defs.yaml[.gz] of a release"
    )
    parser.add_argument(
        "--list-avail", metavar="FILE", type=Path, help="what rocprofv3 --list-avail printed, as JSON"
    )
    parser.add_argument("-o", "--output", metavar="FILE", type=Path, default=DATA / "definitions.tsv")
    options = parser.parse_args(arguments)
    definitions: list[Definition] = []
    for entry in options.definitions:
        rocm, _, file = entry.partition("=")
        definitions += read_definitions(rocm, Path(file))
    if options.list_avail:
        definitions += read_list(options.list_avail)
    options.output.write_text(table(definitions))


def read_definitions(rocm: str, file: Path) -> Iterator[Definition]:
    """The definitions of a release, in either layout: a list of counters (since 7.0), or a mapping (before)."""
    raw = file.read_bytes()
    content = yaml.safe_load(gzip.decompress(raw) if file.suffix == ".gz" else raw)
    entries = _listed(content) if "rocprofiler-sdk" in content else _mapped(content)
    for name, description, chips, facts in entries:
        for gfx in chips:
            block, expression = facts.get("block", ""), str(facts.get("expression", ""))
            yield Definition(
                counter=name,
                block=block,
                expression=plain(expression),
                rocm=rocm,
                gfx=gfx,
                description=shortened(description),
            )


Entry = tuple[str, str, Iterable[str], Mapping[str, Any]]


def _listed(content: Mapping[str, Any]) -> Iterator[Entry]:
    for counter in content["rocprofiler-sdk"]["counters"]:
        for facts in counter["definitions"]:
            yield counter["name"], counter["description"], facts["architectures"], facts


def _mapped(content: Mapping[str, Any]) -> Iterator[Entry]:
    for name, counter in content.items():
        for chips, facts in counter["architectures"].items():
            yield name, counter["description"], chips.split("/"), facts


def read_list(file: Path) -> Iterator[Definition]:
    """The counters that a real machine listed, by release, without agent properties."""
    content = json.loads(file.read_text())
    for release, counters in content["versions"].items():
        rocm = release.removeprefix("ROCm ")
        for facts in counters:
            if facts["kind"] != "constant":
                expression = plain(facts.get("expression", ""))
                yield Definition(
                    counter=facts["name"],
                    block=facts.get("block", ""),
                    expression=expression,
                    rocm=rocm,
                    gfx=content["gfx"],
                    description="",
                )


def plain(expression: str) -> str:
    """The expression without white space."""
    return re.sub(r"\s+", "", expression)


def shortened(description: str) -> str:
    """The first sentence of a description, at most WIDTH characters of it."""
    text = " ".join(re.sub(r"[({]emulated[^)}]*[)}]", "", description).split())
    text = re.split(r"(?<!i\.e)(?<!e\.g)(?<=[a-z0-9)%])\. ", text)[0].rstrip(". ")
    if len(text) <= WIDTH:
        return text
    return text[: WIDTH - 3].rsplit(" ", 1)[0].rstrip(" ,.(") + "..."


def table(definitions: Iterable[Definition]) -> str:
    """One line for all chips and releases that share a definition; the first line of a counter has its description."""
    releases: dict[tuple[str, str, str], dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    descriptions: dict[str, str] = {}
    for definition in definitions:
        releases[definition[:3]][definition.gfx].add(definition.rocm)
        if definition.description:
            descriptions[definition.counter] = definition.description
    lines = ["\t".join(COLUMNS)]
    for key in sorted(releases):
        for rocm, chips in sorted(_alike(releases[key]).items()):
            shown = descriptions.pop(key[0], "")
            lines.append("\t".join((*key, " ".join(rocm), " ".join(chips), shown)))
    return "\n".join([*_header(), *lines]) + "\n"


def _alike(releases: Mapping[str, set[str]]) -> dict[tuple[str, ...], list[str]]:
    groups: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for gfx in sorted(releases):
        groups[tuple(sorted(releases[gfx], key=_version))].append(gfx)
    return groups


def _version(rocm: str) -> tuple[int, ...]:
    return tuple(int(part) for part in rocm.split("."))


def _header() -> Iterator[str]:
    yield "# Hardware and derived counters of AMD GPUs; scripts/make_counter_tables.py writes this file."
    for release in tomli.loads((DATA / "releases.toml").read_text())["release"]:
        facts = [release[key] for key in ("source", "commit", "date", "licence") if key in release]
        yield f"# ROCm {release['rocm']}: {', '.join(facts)}"


if __name__ == "__main__":
    main()
