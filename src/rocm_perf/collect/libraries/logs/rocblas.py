"""rocBLAS: bench lines (ROCBLAS_LAYER=2), trace lines (1) and the profile at the end of the program (4)."""

from __future__ import annotations

import re
from dataclasses import replace

from rocm_perf.collect.libraries.logs.call import Call, flow_mapping, gemm, options, whole, without_addresses

_BENCH = re.compile(r"(?:^|[\s/])rocblas-bench\s+(.*)")
_PROFILE = re.compile(r"^\s*- \{ *rocblas_function: *\"?(\w+)\"?(.*)\}")
_TRACE = re.compile(r"^(rocblas_\w+)(?:,(.*))?$")
_TYPE = re.compile(r"(?:bf|f|i|u)\d+_[rc]")
_PRECISION = {"h": "f16_r", "s": "f32_r", "d": "f64_r", "c": "f32_c", "z": "f64_c"}
_GEMM_NAME = re.compile(r"rocblas_([hsdcz]?)gemm")


def parse(line: str) -> Call | None:
    if match := _BENCH.search(line):
        given = options(match.group(1).split())
        return gemm("rocblas", given.get("f") or "unknown", "bench", given, match.group(1).strip())
    if match := _PROFILE.match(line):
        name = match.group(1).removeprefix("rocblas_")
        call = gemm("rocblas", name, "profile", flow_mapping(match.group(2)), match.group(2).strip(" ,"))
        return replace(call, dtypes=call.dtypes or _precision(match.group(1)))
    if match := _TRACE.match(line.strip()):
        return _traced(match.group(1), (match.group(2) or "").split(","))
    return None


def _traced(name: str, values: list[str]) -> Call:
    """The call with values that have no names; a product begins with both transposes, m, n and k."""
    call = Call(
        "rocblas",
        name.removeprefix("rocblas_"),
        "trace",
        dtypes=",".join(value for value in values if _TYPE.fullmatch(value)) or _precision(name),
        parameters=without_addresses(",".join(values)),
    )
    is_product = "gemm" in name and len(values) > 5 and {*values[:2]} <= {"N", "T", "C"}
    if not is_product:
        return call
    types = call.dtypes.split(",")
    return replace(
        call,
        transposes="".join(values[:2]),
        m=whole(values[2]),
        n=whole(values[3]),
        k=whole(values[4]),
        dtypes=",".join(types[:4]),
        compute_type=types[4] if len(types) > 4 else "",
    )


def _precision(name: str) -> str:
    match = _GEMM_NAME.match(name)
    return _PRECISION.get(match.group(1), "") if match else ""
