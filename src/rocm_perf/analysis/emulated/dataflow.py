"""Which instructions wait for the one before them, and which multiply two loaded values: read from their texts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

import msgspec

from rocm_perf.analysis.emulated.rows import Row, kind_of

_REGISTERS = re.compile(r"\bv(?:(?P<one>\d+)|\[(?P<first>\d+):(?P<last>\d+)\])")
_ACCUMULATES = re.compile(r"v_(?:dual_|pk_)?(?:fmac|mac|dot\d+c)")
_MULTIPLY = re.compile(r"v_(?:dual_|pk_)?(?:mul|fma|fmac|mac|mad|dot\d+c?)_(?:f|mix)")
_NO_RESULT = re.compile(r"v_cmpx?_|v_nop")
_COPY = re.compile(
    r"v_(?:mov|cvt|dual_mov|lshlrev_b32|and|perm|bfe)"
)  # a loaded value, in another type or place


class Operation(msgspec.Struct, frozen=True):
    """One of the operations of an instruction (dual instructions have two), with the vector registers that it uses."""

    name: str
    writes: frozenset[int]
    reads: tuple[frozenset[int], ...]  # by operand, in the order of the text


@lru_cache(maxsize=8192)
def operations_in(text: str) -> tuple[Operation, ...]:
    """Read the operations of an instruction.

    >>> operations_in("v_fmac_f32_e32 v4, v2, v3")[0].reads
    (frozenset({2}), frozenset({3}), frozenset({4}))
    """
    return tuple(_operation(part.strip()) for part in text.split("::") if part.strip())


def dependent(rows: Sequence[Row]) -> Iterator[Row]:
    """Yield the vector instructions that read what the vector instruction executed before them wrote."""
    vector = [row for row in rows if row.executions and kind_of(row) == "VALU"]
    start = 0
    while start < len(vector):  # a run of equal counts is a loop's body or straight code
        end = start
        while end < len(vector) and vector[end].executions == vector[start].executions:
            end += 1
        run = vector[start:end]
        before = run[-1] if _repeats(vector, start) else None
        for row in run:
            if before is not None and _results(before) & _operands(row):
                yield row
            before = row
        start = end


def products(rows: Sequence[Row]) -> Iterator[Row]:
    """Yield the multiplications whose two factors were both loaded from memory or LDS."""
    loaded: set[int] = set()
    found: list[Row] = []
    for _ in range(2):  # what the end of a loop loads, its beginning may use
        found.clear()
        for row in rows:
            if not row.executions:
                continue
            if kind_of(row) in ("VMEM load", "LDS", "scratch"):
                for operation in operations_in(row.text):
                    loaded |= operation.writes
                continue
            for operation in operations_in(row.text):
                factors = operation.reads[:2]
                if _MULTIPLY.match(operation.name):
                    if len(factors) == 2 and all(factor and factor <= loaded for factor in factors):
                        found.append(row)
                    loaded = loaded - operation.writes
                    continue
                is_copy = _COPY.match(operation.name) and any(part & loaded for part in operation.reads)
                loaded = loaded | operation.writes if is_copy else loaded - operation.writes
    yield from dict.fromkeys(found)  # a dual instruction may hold two


def _repeats(vector: Sequence[Row], start: int) -> bool:
    """Whether this run of instructions is executed more often than what surrounds it: the body of a loop."""
    return start > 0 and vector[start].executions > vector[start - 1].executions


def _operation(text: str) -> Operation:
    name, _, rest = text.partition(" ")
    operands = [_registers(part) for part in rest.split(",")] if rest else []
    if name.startswith(("global_load", "buffer_load", "flat_load", "scratch_load", "ds_load", "ds_read")):
        return Operation(name, operands[0], tuple(operands[1:]))
    if not name.startswith("v_") or _NO_RESULT.match(name):
        return Operation(name, frozenset(), tuple(operands))
    reads = (*operands[1:], operands[0]) if _ACCUMULATES.match(name) else tuple(operands[1:])
    return Operation(name, operands[0] if operands else frozenset(), reads)


def _registers(operand: str) -> frozenset[int]:
    match = _REGISTERS.search(operand)
    if match is None:
        return frozenset()
    if match["one"]:
        return frozenset((int(match["one"]),))
    return frozenset(range(int(match["first"]), int(match["last"]) + 1))


def _results(row: Row) -> frozenset[int]:
    return frozenset[int]().union(*(operation.writes for operation in operations_in(row.text)))


def _operands(row: Row) -> frozenset[int]:
    return frozenset[int]().union(*(part for one in operations_in(row.text) for part in one.reads))
