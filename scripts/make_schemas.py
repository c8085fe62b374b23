"""Writes src/rocm_perf/render/report/schemas/*.json from the types of the files: `python scripts/make_schemas.py`."""

from __future__ import annotations

import json
from pathlib import Path

from rocm_perf.render.report.schema import DESCRIBED, schema

FOLDER = Path(__file__).parents[1] / "src" / "rocm_perf" / "render" / "report" / "schemas"


def text(name: str) -> str:
    """The schema of one file, as JSON."""
    return json.dumps(schema(name), indent=1, ensure_ascii=False) + "\n"


def main() -> None:
    """Write the schema of every file."""
    FOLDER.mkdir(exist_ok=True)
    for name in DESCRIBED:
        (FOLDER / f"{name}.schema.json").write_text(text(name))


if __name__ == "__main__":
    main()
