"""The fields around the event list of a torch trace."""

from __future__ import annotations

from typing import Any

import msgspec

from rocm_perf.errors import InputError
from rocm_perf.ingest.io.json import mend
from rocm_perf.ingest.kineto.types import Header


def around(prefix: bytes, suffix: bytes, name: str) -> Header:
    """The fields before and after the event list of the file of that name."""
    document = prefix + b"[]" + suffix
    for candidate in (document, mend(document)):
        try:
            return msgspec.json.decode(candidate, type=Header)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            continue
    try:
        fields = msgspec.json.decode(mend(document), type=dict[str, Any])
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(f"{name} is not readable JSON", str(error)) from error
    versions = {
        key: value for key, value in fields.items() if key.endswith("_version") or key == "schemaVersion"
    }
    return msgspec.convert(versions, Header)
