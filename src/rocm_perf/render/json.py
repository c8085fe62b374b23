"""Documents as JSON, complete and stable."""

from __future__ import annotations

from collections.abc import Sequence

from rocm_perf.errors import RocmPerfError
from rocm_perf.model.document import SCHEMA_VERSION, Document
from rocm_perf.text import encode_json


def documents(runs: Sequence[Document], errors: Sequence[tuple[str, RocmPerfError]]) -> str:
    """What `analyze --json` prints: every run, and every path that could not be read."""
    troubles = [{"path": path, "message": str(error), "exit_code": error.exit_code} for path, error in errors]
    return encode({"schema_version": SCHEMA_VERSION, "runs": list(runs), "errors": troubles})


def encode(value: object) -> str:
    """The value as an indented JSON text."""
    return encode_json(value).decode()
