"""Which verbs are attacked, with which of their options, and what kind of input each of them takes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

from rocm_perf.cli.export import FORMATS
from rocm_perf.model.schema import SCHEMAS
from tests.fuzz.verbs.inputs import EXPORTS, Kind


@dataclass(frozen=True)
class Places:
    """Where an attempt finds its input, a second one of the same kind, and where it may write."""

    input: str
    other: str
    output: Path


Words = Callable[[Places, Random], list[str]]


@dataclass(frozen=True)
class Attempt:
    """A verb; how often it is chosen, next to the others; and its command line."""

    verb: str
    kind: Kind
    weight: int
    words: Words
    needs: bytes = b""  # that a recording must hold for the verb to have something to do
    data_option: str = ""  # with it stdout is data as recorded, not text for a terminal

    def prints_data(self, words: Sequence[str]) -> bool:
        return bool(self.data_option) and self.data_option in words


def _analyze(places: Places, random: Random) -> list[str]:
    options = random.choice(
        (
            [],
            ["--json"],
            ["--show", "all"],
            ["--show", "all", "--full-names", "--by", "short", "--top", "3"],
            ["-o", str(places.output / "files")],
            ["--each"],
            ["--as-one"],
        )
    )
    return ["analyze", places.input, *options]


def _compare(places: Places, random: Random) -> list[str]:
    pair = random.sample([places.input, places.other], 2)
    options = random.choice(
        (
            [],
            ["--json"],
            ["--as-one"],
            ["--window", "all", "--markdown"],
            ["--fail-on", "wall>3% and +1us", "kernel:*.median>5%"],
        )
    )
    return ["compare", *pair, *random.choice(([], ["--against", places.other])), *options]


def _report(places: Places, random: Random) -> list[str]:
    return [
        "report",
        places.input,
        "-o",
        random.choice(("-", *(str(places.output / f"report.{kind}") for kind in ("html", "md")))),
    ]


def _query(places: Places, random: Random) -> list[str]:
    table = random.choice(sorted(SCHEMAS))
    column = random.choice(SCHEMAS[table].columns).name
    sql = random.choice(
        (
            f"SELECT * FROM {table}",
            f"SELECT {column}, count(*) AS n FROM {table} GROUP BY {column} ORDER BY n DESC",
            f"SELECT max({column}) - min({column}) AS span, sum({column}) AS total FROM {table}",
            "SELECT kernel, sum(end_ns - start_ns) AS ns FROM dispatches GROUP BY kernel",
        )
    )
    return ["query", places.input, sql, *random.choice(([], ["--json"], ["--csv"], ["--limit", "0"]))]


def _export(places: Places, random: Random) -> list[str]:
    form = random.choice(FORMATS)
    suffix = EXPORTS.get(form, f".{form}")
    return ["export", places.input, "--format", form, "-o", str(places.output / f"exported{suffix}")]


def _whatif(places: Places, random: Random) -> list[str]:
    changes = (
        ["--faster", ".=2"],
        ["--faster", "gemm=0.5"],
        ["--hoist-syncs"],
        ["--stream-syncs"],
        ["--graphs"],
        ["--async-copies"],
        ["--overlap-copies"],
        ["--host", "0=2"],
    )
    chosen = random.sample(changes, random.choice((1, 1, 2)))
    return [
        "whatif",
        places.input,
        *(word for words in chosen for word in words),
        *random.choice(([], ["--json"])),
    ]


def _repro(places: Places, random: Random) -> list[str]:
    script = ["-o", str(places.output / "repro.py")]
    options = random.choice(
        ([], ["--json"], ["--op", random.choice("12345")], ["--op", "aten::add", *script])
    )
    return ["repro", places.input, *options]


def _kernels(places: Places, random: Random) -> list[str]:
    options: tuple[list[str], ...] = (
        [],
        [],
        ["--json"],
        ["--json"],
        ["--kernel", "a"],
        ["--arch", "gfx942"],
        ["--workgroup", "64"],
        [places.other],
        [places.other, "--json"],
        [places.other, "--fail-on", "spills>0", "waves<-1%"],
    )
    return ["kernels", places.input, *random.choice(options)]


def _simulate(places: Places, random: Random) -> list[str]:
    output = ["-o", str(places.output / "run"), *random.choice(([], ["--json"]))]
    return ["profile", "--device", "sim:MI300X", *output, "--", places.input]


def _counters(places: Places, random: Random) -> list[str]:
    option = random.choice((["-i", places.input], ["--counters", places.input]))
    return ["profile", "--dry-run", *option, "--", "true"]


def _context(places: Places, random: Random) -> list[str]:
    return ["profile", "--dry-run", "--additional-context-file", places.input, "--", "true"]


def _gpus(places: Places, random: Random) -> list[str]:
    return ["gpus", *random.choice(([], ["--json"], ["MI300X"], ["gfx1100"]))]


ATTEMPTS = (
    Attempt("analyze", "recording", 22, _analyze),
    Attempt("compare", "recording", 5, _compare),
    Attempt("report", "recording", 6, _report),
    Attempt("query", "recording", 5, _query, data_option="--csv"),
    Attempt("export", "recording", 22, _export),
    Attempt("whatif", "recording", 10, _whatif),
    Attempt("repro", "recording", 8, _repro, needs=b"Input Dims"),
    Attempt("kernels", "code", 10, _kernels),
    Attempt("profile (simulated)", "workload", 3, _simulate),
    Attempt("profile (counters)", "counters", 2, _counters),
    Attempt("profile (context)", "context", 1, _context),
    Attempt("gpus", "gpus", 1, _gpus),
)
