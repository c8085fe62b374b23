"""Documents as JSON, complete and stable."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from rocm_perf.errors import RocmPerfError
from rocm_perf.model.document import SCHEMA_VERSION, Document


def documents(runs: Sequence[Document], errors: Sequence[tuple[str, RocmPerfError]]) -> str:
    """What `analyze --json` prints: every run, and every path that could not be read."""
    troubles = [{"path": path, "message": str(error), "exit_code": error.exit_code} for path, error in errors]
    return encode({"schema_version": SCHEMA_VERSION, "runs": list(runs), "errors": troubles})


def encode(value: object) -> str:
    return msgspec.json.format(msgspec.json.encode(value), indent=1).decode()
