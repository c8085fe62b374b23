"""JSON Schemas (draft 2020-12) of the files of an analysis and of what `--json` prints, made from their types.
scripts/make_schemas.py writes them to schemas/, which ships with the package."""

from __future__ import annotations

from typing import Any

import msgspec

from rocm_perf.arch.codeobject.comparison import CodeComparison
from rocm_perf.model.document import SCHEMA_VERSION
from rocm_perf.model.results.comparison import Comparison
from rocm_perf.render.report.file_types import FILES

DRAFT = "https://json-schema.org/draft/2020-12/schema"
PRINTED: dict[str, type[msgspec.Struct]] = {  # by compare, and by kernels with two files
    "comparison": Comparison,
    "kernel_comparison": CodeComparison,
}
DESCRIBED: dict[str, type[msgspec.Struct]] = {**FILES, **PRINTED}


def schema(name: str) -> dict[str, Any]:
    """The schema of one file. Strict: every field is required, and no other is allowed."""
    kind = DESCRIBED[name]
    version = _version(kind)
    generated = msgspec.json.schema(kind)
    for definition in generated["$defs"].values():
        _close(definition)
    generated["$defs"][kind.__name__]["properties"]["schema_version"] = {"const": version}
    head = {
        "$schema": DRAFT,
        "$id": f"urn:rocm-perf:{name}:{version}",
        "title": f"{name}.json of rocm-perf",
    }
    return {**head, **generated}


def _version(kind: type[msgspec.Struct]) -> int:
    """The version that its own type states, or else that of all files."""
    (field,) = (field for field in msgspec.structs.fields(kind) if field.name == "schema_version")
    return field.default if isinstance(field.default, int) else SCHEMA_VERSION


def _close(definition: dict[str, Any]) -> None:
    """Require every field, and forbid others. msgspec makes fields with a default optional; the encoder writes them
    all."""
    if "properties" in definition:
        definition["required"] = list(definition["properties"])
        definition["additionalProperties"] = False
        for field in definition["properties"].values():
            field.pop("default", None)
