"""JSON Schemas (draft 2020-12) of the files of an analysis, made from their types. scripts/make_schemas.py writes them
to schemas/, which ships with the package."""

from __future__ import annotations

from typing import Any

import msgspec

from rocm_perf.model.document import SCHEMA_VERSION
from rocm_perf.render.report.file_types import FILES

DRAFT = "https://json-schema.org/draft/2020-12/schema"


def schema(name: str) -> dict[str, Any]:
    """The schema of one file. Strict: every field is required, and no other is allowed."""
    generated = msgspec.json.schema(FILES[name])
    for definition in generated["$defs"].values():
        _close(definition)
    generated["$defs"][FILES[name].__name__]["properties"]["schema_version"] = {"const": SCHEMA_VERSION}
    head = {
        "$schema": DRAFT,
        "$id": f"urn:rocm-perf:{name}:{SCHEMA_VERSION}",
        "title": f"{name}.json of rocm-perf",
    }
    return {**head, **generated}


def _close(definition: dict[str, Any]) -> None:
    """Require every field, and forbid others. msgspec makes fields with a default optional; the encoder writes them
    all."""
    if "properties" in definition:
        definition["required"] = list(definition["properties"])
        definition["additionalProperties"] = False
        for field in definition["properties"].values():
            field.pop("default", None)
