"""The numbers that causes rest on, from the counts of each instruction."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from rocm_perf.analysis.emulated.dataflow import dependent, products
from rocm_perf.analysis.emulated.rows import Counted, Row, is_atomic, kind_of, space_of, what_of
from rocm_perf.arch.codeobject.instructions import Class, meaning
from rocm_perf.arch.codeobject.work import Kind, amd_kind
from rocm_perf.model.device_code import INDEXED, Work
from rocm_perf.model.results.count import Tally, TallyName

_LONG_DIVISION = (
    "0x5f7ffffc"  # 2^64, less a little: the divisor's scale, with which LLVM begins divisions of 64 bits
)
_ARITHMETIC = ("multiply-add", "arithmetic")
_NARROW, _WIDE = 2, 8  # bytes that a lane moves
# Look-ups of lines for an access of 64 lanes, dense: 4 up to a word a lane, 16 beyond (MI200 and MI300X, recorded).
_LOOKUPS, _WIDE_LOOKUPS = 4, 16

Read = Callable[[Row], float]
Test = Callable[[Row], bool]


def tallies(
    counted: Counted, *, compulsory_bytes: float, spilled_registers: int, work_items: int
) -> tuple[Tally, ...]:
    """Return every tally that is not zero. `work_items`: of the whole grid."""
    found = (
        Tally(name="waves", amount=counted.scaled(counted.executed.waves)),
        Tally(name="work-items", amount=work_items),
        *_instructions(counted),
        *_by_dataflow(counted),
        *_accesses(counted),
        *_atomics(counted),
        *_scratch(counted),
        Tally(name="spilled registers", amount=spilled_registers),
        Tally(name="compulsory bytes", amount=compulsory_bytes),
    )
    return tuple(one for one in found if one.amount)


def place_of(row: Row) -> str:
    """Return an instruction with its source line, for a sentence."""
    where = f"{row.file}:{row.line}, " if row.file else ""
    return f"{where}`{row.text}`"


def _tally(counted: Counted, name: TallyName, rows: Iterable[Row], read: Read) -> Tally:
    amounts = [(read(row), row) for row in rows]
    whole = sum(amount for amount, _ in amounts)
    worst, row = max(amounts, key=lambda one: one[0], default=(0, None))
    scaled = whole * counted.executed.scale if counted.executed.is_sample else whole
    return Tally(name=name, amount=scaled, most_at=place_of(row) if row is not None and worst > 0 else "")


def _kind(row: Row) -> Kind:
    return amd_kind(row.text)


def _executions(row: Row) -> float:
    return row.executions


def _instructions(counted: Counted) -> Iterator[Tally]:
    rows = counted.rows
    vector = [row for row in rows if kind_of(row) == "VALU"]
    yield _tally(counted, "instructions", rows, _executions)
    yield _tally(counted, "vector", vector, _executions)
    yield _tally(counted, "vector lanes", vector, lambda row: row.lanes)
    for name, is_one in _OF_VECTOR:
        yield _tally(counted, name, (row for row in vector if is_one(row)), _executions)
    for name, kinds in _OF_CLASSES:
        yield _tally(counted, name, (row for row in rows if kind_of(row) in kinds), _executions)
    yield _tally(counted, "lds cycles", rows, lambda row: row.lds_cycles)
    yield _tally(counted, "lds conflicts", rows, lambda row: row.lds_conflicts)


def _computes_in(dtype: str) -> Test:
    return lambda row: _kind(row).work in _ARITHMETIC and _kind(row).dtype == dtype


def _is(work: Work, dtype: str | None = None) -> Test:
    return lambda row: _kind(row).work == work and dtype in (None, _kind(row).dtype)


def _divides_integers(row: Row) -> bool:
    return _kind(row).work == "integer division" or _LONG_DIVISION in row.text


_OF_VECTOR: tuple[tuple[TallyName, Test], ...] = (
    ("f64", _computes_in("f64")),
    ("f32", _computes_in("f32")),
    ("f16", _computes_in("f16")),
    ("integer", _is("integer")),
    ("special", lambda row: meaning(row.text.split(None, 1)[0]).transcendental),
    ("conversions", _is("conversion")),
    ("f64 conversions", _is("conversion", "f64")),
    ("integer divisions", _divides_integers),
    ("multiply-adds", _is("multiply-add")),
)
_OF_CLASSES: tuple[tuple[TallyName, tuple[Class, ...]], ...] = (
    ("matrix", ("matrix",)),
    ("scalar", ("SALU", "SMEM")),
    ("branches", ("branch", "message")),
    ("barriers", ("barrier",)),
    ("waits", ("wait",)),
    ("lds", ("LDS",)),
)


def _by_dataflow(counted: Counted) -> Iterator[Tally]:
    yield _tally(counted, "dependent", dependent(counted.rows), _executions)
    yield _tally(counted, "products of loads", products(counted.rows), _executions)


def _accesses(counted: Counted) -> Iterator[Tally]:
    accesses = [row for row in counted.rows if row.executions and space_of(row) == "global"]
    loads = [row for row in accesses if what_of(row) == "load"]
    stores = [row for row in accesses if what_of(row) == "store"]

    def wasted(row: Row) -> float:
        return counted.lines_of(row) - _dense_lines(counted, row)

    yield _tally(counted, "loads", loads, _executions)
    yield _tally(counted, "load bytes", loads, lambda row: row.bytes)
    yield _with_place(_tally(counted, "load lines", loads, counted.lines_of), loads, wasted)
    yield _tally(counted, "dense load lines", loads, lambda row: _dense_lines(counted, row))
    yield _tally(counted, "stores", stores, _executions)
    yield _tally(counted, "store bytes", stores, lambda row: row.bytes)
    yield _with_place(_tally(counted, "store lines", stores, counted.lines_of), stores, wasted)
    yield _tally(counted, "dense store lines", stores, lambda row: _dense_lines(counted, row))
    both = (*loads, *stores)
    yield _tally(counted, "narrow accesses", (row for row in both if 0 < _width(row) <= _NARROW), _executions)
    yield _tally(counted, "wide accesses", (row for row in both if _width(row) >= _WIDE), _executions)
    vector = [row for row in counted.rows if space_of(row) in ("global", "scratch")]
    yield _tally(counted, "l1 look-ups", vector, lambda row: _lookups(counted, row))


def _with_place(tally: Tally, rows: Iterable[Row], cost: Read) -> Tally:
    """Name the instruction with the highest cost instead of the one with the most."""
    worst = max(rows, key=cost, default=None)
    place = place_of(worst) if worst is not None and cost(worst) > 0 else ""
    return Tally(name=tally.name, amount=tally.amount, most_at=place)


def _width(row: Row) -> int:
    return meaning(row.text.split(None, 1)[0]).bytes_per_lane or 0


def _dense_lines(counted: Counted, row: Row) -> float:
    """Return the lines that the same bytes would need if they lay beside each other in each execution."""
    lines = counted.lines_of(row)
    return min(lines, max(row.executions, row.bytes / counted.line_bytes))


def _lookups(counted: Counted, row: Row) -> float:
    """Return how often L1 looks up a line for an instruction."""
    each = (_WIDE_LOOKUPS if _width(row) >= _WIDE else _LOOKUPS) * counted.executed.wave_size / 64
    return max(row.executions * each, row.lines_128) if row.bytes else 0.0


def _atomics(counted: Counted) -> Iterator[Tally]:
    atomics = [row for row in counted.rows if row.executions and is_atomic(row)]
    local = [row for row in atomics if kind_of(row) == "LDS"]
    far = [row for row in atomics if kind_of(row) != "LDS"]
    yield _tally(counted, "atomics", far, _executions)
    yield _tally(counted, "atomic lanes", far, lambda row: row.lanes)
    yield _tally(counted, "contended lanes", far, lambda row: row.same_address)
    yield _tally(counted, "local atomics", local, _executions)
    yield _tally(counted, "local atomic lanes", local, lambda row: row.lanes)
    yield _tally(counted, "contended local lanes", local, lambda row: row.same_address)


def _scratch(counted: Counted) -> Iterator[Tally]:
    rows = [row for row in counted.rows if row.executions and space_of(row) == "scratch"]
    indexed = [row for row in rows if amd_kind(row.text, 1).dtype == INDEXED or row.text.startswith("flat_")]
    yield _tally(counted, "scratch accesses", rows, _executions)
    yield _tally(counted, "indexed scratch accesses", indexed, _executions)
    yield _tally(counted, "scratch bytes", rows, lambda row: row.bytes)
    yield _tally(counted, "scratch lines", rows, counted.lines_of)
