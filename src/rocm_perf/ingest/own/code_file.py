"""What `rocm-perf profile` found in the program's own GPU code (model/device_code.py)."""

from __future__ import annotations

import msgspec

from rocm_perf.errors import EmptyCaptureError, InputError
from rocm_perf.ingest.io.source import Source
from rocm_perf.ingest.part import Adapter, Part, part
from rocm_perf.ingest.peek import Peek
from rocm_perf.model.device_code import KIND, VERSION, DeviceCode, tables


def read(source: Source) -> Part:
    try:
        code = msgspec.json.decode(source.read().data, type=DeviceCode)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(
            f"cannot read {source.name}",
            f"it is not a complete account of GPU code ({error})",
            "Record again.",
        ) from error
    if code.version > VERSION:
        raise InputError(
            f"{source.name} is of version {code.version}",
            f"this rocm-perf reads up to version {VERSION}",
            "Update rocm-perf.",
        )
    if not code.kernels:
        raise EmptyCaptureError(f"{source.name} holds no kernel", "no code of the kernels that ran was found")
    return part("rocm-perf", tables(code), notices=code.notices)


def _claims(peek: Peek) -> bool:
    return peek.json_kind == "object" and f'"{KIND}"' in peek.text[:200] and "kind" in peek.json_keys[:1]


ADAPTERS = (
    Adapter(
        name="rocm-perf-code",
        title="rocm-perf-code.json, what the machine code of a program's kernels shows",
        recognised_by=f'JSON that starts with "kind": "{KIND}"',
        claims=_claims,
        read=read,
        fills=("code", "code_mix"),
    ),
)
