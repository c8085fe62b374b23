"""Every recorded output of a real tool: it loads with the rows that specimens.tsv states, or is refused with the words
that stand there; its busy time equals an interval union written here; and `analyze` answers within a screenful.

specimens.tsv can be checked against the folder's own INDEX.md by eye; the test below does it for the CSV files.
"""

from __future__ import annotations

import csv
import gzip
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from rocm_perf.errors import RocmPerfError
from rocm_perf.model.document import Document
from rocm_perf.model.trace import Trace
from tests.recordings import answer, recording, sampled
from tests.whole_answer import check_answer, fits

TABLE = Path(__file__).parent / "specimens.tsv"
HIDDEN = ("nodes", "processes")


def golden() -> dict[str, dict[str, str]]:
    with TABLE.open() as file:
        return {row["file"]: row for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)}


GOLDEN = golden()
READABLE = [name for name, row in GOLDEN.items() if not row["refused"]]


def describe(trace: Trace) -> dict[str, str]:
    return {
        "format": " ".join(trace.run.formats),
        "rows": " ".join(f"{name}={trace.rows(name)}" for name in trace if name not in HIDDEN),
        "lost": " ".join("?" if loss.records is None else str(loss.records) for loss in trace.run.losses),
    }


def test_every_specimen_is_in_the_table(specimens: Path) -> None:
    files = {str(path.relative_to(specimens)) for path in specimens.rglob("*") if path.is_file()}
    assert files - {"INDEX.md"} == set(GOLDEN)


@pytest.mark.parametrize("name", READABLE)
def test_specimen(specimens: Path, name: str) -> None:
    expected = GOLDEN[name]
    assert describe(recording(specimens / name)) == {key: expected[key] for key in ("format", "rows", "lost")}


@pytest.mark.parametrize("name", sampled(READABLE))
@pytest.mark.whole
def test_answer(specimens: Path, name: str) -> None:
    document = answer(specimens / name)
    check_busy_time(recording(specimens / name), document)
    check_document(document)
    check_answer(document)


@pytest.mark.parametrize("name", [name for name, row in GOLDEN.items() if row["refused"]])
def test_refused_specimen(specimens: Path, name: str) -> None:
    with pytest.raises(RocmPerfError, match=re.escape(GOLDEN[name]["refused"])) as refusal:
        recording(specimens / name)
    assert str(specimens / name) in str(refusal.value)


def check_busy_time(trace: Trace, document: Document) -> None:
    for device in document.devices:
        spans = [
            (row["start_ns"], row["end_ns"])
            for table in ("dispatches", "copies")
            for row in trace.table(table).iter_rows(named=True)
            if (row["node"], row["agent_id"]) == (device.node, device.agent_id) and row["pass_id"] == 0
        ]
        assert device.busy_ns == sum(end - start for start, end in merged(spans))
        assert device.busy_ns + device.idle_ns == device.window_ns
        assert max(device.kernel_ns, device.copy_ns) <= device.busy_ns <= device.kernel_ns + device.copy_ns


def merged(spans: list[tuple[int | None, int | None]]) -> Iterator[tuple[int, int]]:
    """Disjoint intervals that cover the same instants; written without the package's own arithmetic."""
    current: tuple[int, int] | None = None
    for start, end in sorted((s, e) for s, e in spans if s is not None and e is not None and e >= s):
        if current and start <= current[1]:
            current = (current[0], max(current[1], end))
        else:
            if current:
                yield current
            current = (start, end)
    if current:
        yield current


def check_document(document: Document) -> None:
    from rich.console import Console

    from rocm_perf.render.screen.terminal import View, print_document

    console = Console(width=80, record=True, file=open("/dev/null", "w"))  # noqa: SIM115
    print_document(document, console, View())
    lines = console.export_text().splitlines()
    console.file.close()
    assert 2 <= len(lines) <= 40
    assert all(fits(line, 80) for line in lines)


# A row of these files is a row of that table (or of one of them).
ONE_TO_ONE = {
    "rocprofv3-api-csv": "api_calls ranges",
    "rocprofv3-kernel-csv": "dispatches",
    "rocprofv3-copy-csv": "copies",
    "rocprofv3-allocation-csv": "allocations",
    "rocprofv3-scratch-csv": "scratch",
    "rocprofv3-counters-csv": "counters",
    "rocprofv3-agents-csv": "agents",
    "rocprofv3-pc-sampling-csv": "pc_samples",
    "stats-csv": "summaries",
    "rocprof-csv": "dispatches",
}


def test_rows_agree_with_the_index(specimens: Path) -> None:
    index = (specimens / "INDEX.md").read_text()
    stated = {
        name: int(rows) for name, rows in re.findall(r"\| `([^`]+)` \|.*?\| (\d+) rows x \d+ cols", index)
    }
    checked = 0
    for name, row in GOLDEN.items():
        table = ONE_TO_ONE.get(row["format"])
        if table and name in stated:
            loaded = dict(pair.split("=") for pair in row["rows"].split())
            lost = sum(int(count) for count in row["lost"].split()) + blank_lines(specimens / name)
            assert sum(int(loaded.get(part, 0)) for part in table.split()) + lost == stated[name], name
            checked += 1
    assert checked > 70


def blank_lines(path: Path) -> int:
    """The index counts them as rows; they are none."""
    text = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    return sum(1 for line in text.splitlines() if not line.strip())


@pytest.mark.parametrize(
    ("file", "table", "rows"),
    [
        ("rocpd/JoursBleu_llama.cpp__32432_results.db.gz", "dispatches", 5_687),
        ("rocprofv3_json/AMD-AGI_TraceLens__908_results.json.gz", "dispatches", 43_915),
        ("torch_trace/AMD-AGI_TraceLens__mi300_resnet_act_checkpoint.json.gz", "dispatches", 2_995),
    ],
)
def test_the_counts_everyone_knows(specimens: Path, file: str, table: str, rows: int) -> None:
    assert recording(specimens / file).rows(table) == rows
