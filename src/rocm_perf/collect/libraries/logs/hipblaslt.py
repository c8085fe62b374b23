"""hipBLASLt: bench lines (HIPBLASLT_LOG_MASK=32), the profile (64) and traces of the API (2, 16)."""

from __future__ import annotations

import re

from rocm_perf.collect.libraries.logs.call import Call, flow_mapping, gemm, options, without_addresses

_BENCH = re.compile(r"(?:^|[\s/\]])hipblaslt-bench\s+(.*)")
_PROFILE = re.compile(r"^\s*- \{ *function: *\"?(\w+)\"?(.*)\}")
_TRACE = re.compile(r"^\[[^\]]*\]\[HIPBLASLT\]\[(\d{1,9})\]\[(\w+)\]\[(\w+)\]\s*(.*)$")


def parse(line: str) -> Call | None:
    if match := _BENCH.search(line):
        return gemm("hipblaslt", "matmul", "bench", options(match.group(1).split()), match.group(1).strip())
    if match := _PROFILE.match(line):
        given = flow_mapping(match.group(2))
        return gemm("hipblaslt", match.group(1), "profile", given, match.group(2).strip(" ,"))
    if match := _TRACE.match(line.strip()):
        pid, _, name, parameters = match.groups()
        return Call("hipblaslt", name, "trace", pid=int(pid), parameters=without_addresses(parameters))
    return None
