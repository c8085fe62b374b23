"""The documents keep up with the code."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from rocm_perf.cli.main import VERBS
from rocm_perf.ingest.sniff import adapters
from rocm_perf.model.schema import SCHEMAS

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


def test_every_table_has_a_row_in_words() -> None:
    assert all(schema.row and all(column.doc for column in schema.columns) for schema in SCHEMAS.values())
