"""The documents keep up with the code."""

from __future__ import annotations

import re
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from rocm_perf import api
from rocm_perf.analysis.overview import examine
from rocm_perf.cli.demo import BEFORE, DEVICE, OUTPUT, ROWS, workload_file
from rocm_perf.cli.main import VERBS
from rocm_perf.ingest.sniff import adapters
from rocm_perf.model.schema import SCHEMAS
from rocm_perf.render.screen.terminal import View, print_document

ROOT = Path(__file__).parents[2]
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), ROOT / "bench" / "README.md"]


def test_every_format_is_documented_in_order() -> None:
    text = (ROOT / "docs" / "formats.md").read_text()
    rows = re.findall(r"^\| (.+?) \| (.+) \|$", text.split("## Folders")[0], re.MULTILINE)
    assert rows[1:] == [(adapter.title, adapter.recognised_by) for adapter in adapters()]


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_links_lead_somewhere(document: Path) -> None:
    for target in re.findall(r"\]\((?!http)([^)#]+)", document.read_text()):
        assert (document.parent / target).exists(), target


def test_the_readme_names_every_verb() -> None:
    readme = (ROOT / "README.md").read_text()
    assert [verb for verb in VERBS if f"rocm-perf {verb}" not in readme] == []


def test_the_readme_shows_what_the_demo_prints() -> None:
    (sample,) = re.findall(r"\$ rocm-perf demo\n(.+?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    printed = iter(demo_screen(width=110))
    for line in sample.splitlines():
        assert line == "..." or line in printed, f"not printed, or not in this order: {line}"


def demo_screen(width: int) -> list[str]:
    """The rows that `rocm-perf demo` prints about its slow loop."""
    screen = StringIO()
    document = examine(api.simulate(workload_file(BEFORE), DEVICE), str(OUTPUT / BEFORE))
    print_document(document, Console(file=screen, width=width), View(top=ROWS, width=width))
    return [row.rstrip() for row in screen.getvalue().splitlines()]


def test_every_table_has_a_row_in_words() -> None:
    assert all(schema.row and all(column.doc for column in schema.columns) for schema in SCHEMAS.values())
