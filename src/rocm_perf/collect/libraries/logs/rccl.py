"""RCCL and NCCL: collectives and communicators (NCCL_DEBUG=INFO, NCCL_DEBUG_SUBSYS=INIT,COLL)."""

from __future__ import annotations

import re
from dataclasses import replace

from rocm_perf.collect.libraries.logs.call import Call

# opCount is hexadecimal. RCCL adds the global rank behind the stream.
_COLLECTIVE = re.compile(
    r"(?<![^\s:])(?P<host>[^\s:]{1,255}):(?P<pid>\d{1,9}):\d+ \[\d+\] NCCL INFO (?P<name>[A-Za-z]+): opCount [0-9a-f]+ "
    r"sendbuff \S+ recvbuff \S+ (?:acc \S+ )?count (?P<count>\d{1,18}) datatype (?P<dtype>\d+) op (?P<op>\d+) "
    r"root (?P<root>-?\d+) comm (?P<comm>\S+) \[nranks=(?P<ranks>\d{1,9})\]"
    r"(?:.*globalrank (?P<rank>\d{1,9}))?"
)
_COMMUNICATOR = re.compile(
    r":(?P<pid>\d{1,9}):\d+ \[\d+\] NCCL INFO .*?comm (?P<comm>0x[0-9a-f]+) rank (?P<rank>\d{1,9}) nranks \d+"
    r"(?:.*?commId (?P<id>0x[0-9a-f]+))?"
)
_OTHER = re.compile(r"\bNCCL (INFO|WARN|version)")
# ncclDataType_t, and the bytes of an element.
_TYPES = {
    0: ("int8", 1), 1: ("uint8", 1), 2: ("int32", 4), 3: ("uint32", 4), 4: ("int64", 8), 5: ("uint64", 8),
    6: ("float16", 2), 7: ("float32", 4), 8: ("float64", 8), 9: ("bfloat16", 2), 10: ("float8_e4m3", 1),
    11: ("float8_e5m2", 1),
}  # fmt: skip
# How often this rank's input holds `count` elements; where that depends on the root, it is not known.
_ALL_RANKS = ("reduce_scatter", "all_to_all")
_UNKNOWN = ("recv", "scatter")
_WORD = re.compile(r"(?<=[a-z])(?=[A-Z])")


def parse(line: str) -> Call | None:
    match = _COLLECTIVE.search(line)
    if not match:
        return None
    name = _WORD.sub("_", match["name"]).lower()
    ranks, count = int(match["ranks"]), int(match["count"])
    dtype, size = _TYPES.get(int(match["dtype"]), (f"datatype {match['dtype']}", None))
    held = None if size is None or name in _UNKNOWN else count * size * (ranks if name in _ALL_RANKS else 1)
    return Call(
        "rccl",
        name,
        "log",
        dtypes=dtype,
        size_bytes=held,
        group=match["comm"],
        group_size=ranks,
        rank=int(match["rank"]) if match["rank"] else None,
        pid=int(match["pid"]),
        parameters=f"count {count} op {match['op']} root {match['root']}",
    )


def is_other(line: str) -> bool:
    """Whether RCCL wrote this line, and it is not a call."""
    return _OTHER.search(line) is not None


class Communicators:
    """Which rank a process is in each communicator, and the communicator's name that all its ranks share."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, str], tuple[int, str]] = {}

    def learn(self, line: str) -> None:
        if match := _COMMUNICATOR.search(line):
            name = match["id"] or self._known.get((int(match["pid"]), match["comm"]), (0, ""))[1]
            self._known[int(match["pid"]), match["comm"]] = int(match["rank"]), name or match["comm"]

    def named(self, call: Call) -> Call:
        known = self._known.get((call.pid or 0, call.group))
        if known is None:
            return call
        return replace(call, rank=known[0] if call.rank is None else call.rank, group=known[1])
