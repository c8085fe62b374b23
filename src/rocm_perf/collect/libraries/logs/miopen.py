"""MIOpen: the command of its driver that would repeat a call (MIOPEN_ENABLE_LOGGING_CMD=1), on standard error."""

from __future__ import annotations

import re

from rocm_perf.collect.libraries.logs.call import Call, options

_COMMAND = re.compile(r"MIOpen\((\w+)\):.*?Command \[LogCmd(\w*)\]\s+\S*MIOpenDriver (\w+)\s+(.*)")
_WORD = re.compile(r"([a-z_]+?)(fp16|bfp16|fp32|fp64|fp8|bfp8|int8)?")
_TYPES = {"fp16": "f16", "bfp16": "bf16", "int8": "i8", "fp8": "f8", "bfp8": "bf8", "fp64": "f64"}
_DIRECTIONS = {"1": "forward", "2": "backward_data", "4": "backward_weights"}


def parse(line: str) -> Call | None:
    match = _COMMAND.search(line)
    if not match:
        return None
    _, logged, word, parameters = match.groups()
    named = _WORD.fullmatch(word)
    operation, suffix = named.groups() if named else (word, None)
    given = options(parameters.split())
    direction = _DIRECTIONS.get(given.get("F") or given.get("forw") or "", "")
    is_search = logged.startswith("Find")  # it times its algorithms, so these calls are not the program's own
    return Call(
        "miopen",
        "_".join(filter(None, ("find" if is_search else "", operation, direction))),
        "command",
        dtypes=_TYPES.get(suffix or "", "f32"),
        solution=given.get("S", ""),
        parameters=parameters.strip(),
    )
