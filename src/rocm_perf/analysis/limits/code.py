"""What the machine code of a kernel shows about its limits, joined with the recording by name.

Nothing here was executed. An instruction in a loop counts ten times one outside of it, so shares are estimates, and a
cause from code alone is at most "likely".
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec
import polars as pl

from rocm_perf.analysis.basis.passes import timed_dispatches
from rocm_perf.analysis.basis.symbols import symbols_of
from rocm_perf.analysis.limits.catalogue import catalogue, remedy
from rocm_perf.analysis.roofline.amounts import Key
from rocm_perf.analysis.roofline.devices import Device, on_device
from rocm_perf.analysis.time.kernel_family import family
from rocm_perf.arch.codeobject.targets import fit
from rocm_perf.arch.gpu import Gpu
from rocm_perf.arch.occupancy import Occupancy, Resources, occupancy
from rocm_perf.errors import UsageError
from rocm_perf.model.device_code import HIGH, INDEXED, LDS
from rocm_perf.model.results.limits import Cause, Certainty
from rocm_perf.model.trace import Trace
from rocm_perf.units import format_bytes, format_count, format_share

_LOOP, _DEEPEST = (
    10.0,
    3,
)  # how often a loop is taken to run, and the depth from which on more depth changes nothing
_LEAST_SHARE = 0.1  # causes of less are not named
_MOST_SHARE, _MOST_SAVED = 0.95, 0.99
_DOUBT = (
    0.8  # of what is left may go as well: the costs of instructions are estimates, and a bound is to hold
)
_FEW_WAVES = 0.25  # of the most that a SIMD holds (causes-counters, 2.11)
# Issue slots of a SIMD that an instruction takes, beside one of f32. NVIDIA: CUDA C++ Programming Guide, throughput of
# native arithmetic instructions (16 special functions and conversions of f64 against 128 of f32 a clock; 64 other
# conversions). AMD: a transcendental takes four slots (measured: SQ_ACTIVE_INST_VALU), f64 by the data sheets.
_SPECIAL = {"NVIDIA": 8.0, "AMD": 4.0}
_CONVERSION = {"NVIDIA": 2.0, "AMD": 1.0}
_F64_CONVERSION_NVIDIA = 8.0
_RDNA_F64 = 32.0  # 4 against 128 operations a clock of a compute unit (rocprof-compute's analysis of gfx115x)
_ACCESS = 4.0  # a vector memory or LDS instruction: a quarter of the lanes find their address in a clock
_SCRATCH = 8.0
_BARRIER = 40.0  # an estimate: what a wave waits for the others of a balanced workgroup
_ATOMIC = 32.0
_BESIDE = 0.3  # scalar instructions and branches of AMD, which issue beside vector ones
_DIVISION = 30.0  # a division of 32-bit integers, all its instructions (20 to 25 are seen, some of them slow)
_PREPARED_DIVISION = 9.0  # one by a number that does not change: a product, a shift, corrections
_FEW_PRODUCTS = 8  # multiply-adds in a loop
_MUCH = 0.3  # of the issue slots: what takes less limits nothing
_BALANCE = 8.0  # instructions of f32 in the time of a byte from memory, where the GPU is not known
_DUAL = re.compile(r"gfx(9[45]|1[12])")  # whose peak counts two f32 operations an instruction and lane
_DOUBLE = re.compile(r"\bdouble\b")
_PRODUCT = re.compile(r"gemm|matmul|mat_?mul|(?<![a-z])mm(?![a-z])|product|conv|attention", re.I)
_MATRIX_UNITS = {"MFMA": "matrix units (MFMA)", "WMMA": "matrix units (WMMA)", "tensor core": "tensor cores"}
_HALF = ("f16", "bf16", "i8", "iu8")
_ARITHMETIC = (
    "multiply-add",
    "arithmetic",
    "special",
    "conversion",
    "integer",
    "integer division",
    "division",
    "move",
)
_GLOBAL = ("load", "store", "atomic", "compare-and-swap")


class Instructions(msgspec.Struct, frozen=True):
    """Alike instructions of a kernel in one loop. `slots` is their estimated share of its issue slots, `memory` the
    time of their bytes beside it if all came from memory."""

    work: str
    dtype: str
    width_bytes: int | None
    loop: int
    depth: int
    count: int
    weight: float  # how often they run beside one outside of loops
    slots: float
    memory: float
    source: str


class CodeEvidence(msgspec.Struct, frozen=True, kw_only=True):
    """The machine code of one kernel. `unread` says why its instructions are not known; they are then empty."""

    symbol: str
    arch: str
    file: str
    vgprs: int | None
    agprs: int | None
    sgprs: int | None
    vgpr_spills: int | None
    sgpr_spills: int | None
    scratch_bytes: int | None
    lds_bytes: int | None
    code_bytes: int | None
    largest_loop_bytes: int | None
    variants: int
    unread: str
    instructions: tuple[Instructions, ...]
    waves: Occupancy | None  # None where the workgroup, the registers or the GPU are not known
    matrix_unit: str  # of the GPU; empty: none, or not known

    @property
    def is_read(self) -> bool:
        """Whether its instructions are known."""
        return bool(self.instructions)

    @property
    def has_matrix(self) -> bool | None:
        """Whether it has matrix instructions; None where its instructions are not known."""
        return any(one.work == "matrix" for one in self.instructions) if self.is_read else None

    def rows(self, *works: str, dtype: str | None = None, in_loops: bool = False) -> list[Instructions]:
        """Return its instructions that do one of these."""
        return [
            one
            for one in self.instructions
            if one.work in works and dtype in (None, one.dtype) and (one.depth or not in_loops)
        ]

    def slots(self, *works: str, dtype: str | None = None) -> float:
        """Return the estimated share of its issue slots that these take."""
        return sum(one.slots for one in self.rows(*works, dtype=dtype))

    def count(self, *works: str, dtype: str | None = None, in_loops: bool = False) -> int:
        """Return how many of these the code has."""
        return sum(one.count for one in self.rows(*works, dtype=dtype, in_loops=in_loops))

    def memory_beside(self, rows: Sequence[Instructions]) -> float:
        """Return the time of the bytes that move as often as these run, beside that of the instructions which do, if
        all of them came from memory."""
        depth = max(rows, key=lambda one: one.weight).depth if rows else 0
        beside = [one for one in self.instructions if one.depth >= depth]
        return sum(one.memory for one in beside) / (sum(one.slots for one in beside) or 1.0)

    def widths(self, *works: str) -> Mapping[int, float]:
        """Return the shares of accesses that move so many bytes a lane, weighed by loops."""
        known = [one for one in self.rows(*works) if one.width_bytes]
        total = sum(one.weight for one in known) or 1.0
        shares: dict[int, float] = {}
        for one in known:
            shares[one.width_bytes or 0] = shares.get(one.width_bytes or 0, 0.0) + one.weight / total
        return dict(sorted(shares.items()))

    def where(self, rows: Sequence[Instructions]) -> str:
        """Return ` (file:line)` of most of these, or nothing."""
        named = [one for one in rows if one.source]
        if not named:
            return ""
        path, _, line = max(named, key=lambda one: one.weight).source.rpartition(":")
        return f" ({path.rsplit('/', 1)[-1]}:{line})"


def code_evidence(trace: Trace, known: tuple[Device, ...]) -> dict[Key, CodeEvidence]:
    """Return what the code of each kernel shows, of those whose code was found."""
    if not trace.has("code"):
        return {}
    rows = trace.table("code").unique(["symbol", "arch"], keep="first", maintain_order=True)
    mixes = _mixes(trace)
    ran = on_device(timed_dispatches(trace), known)
    sizes = _workgroups(ran)
    symbols = symbols_of(sorted({kernel for _, kernel in sizes}), rows["symbol"])
    by_symbol: dict[str, list[dict[str, Any]]] = {}
    for row in rows.iter_rows(named=True):
        by_symbol.setdefault(row["symbol"], []).append(row)
    found = {}
    for (place, kernel), workgroup in sizes.items():
        device = known[place]
        fitting = [row for row in by_symbol.get(symbols.get(kernel, ""), ()) if _fits(row["arch"], device)]
        if fitting:
            row = max(fitting, key=lambda each: fit(each["arch"], device.gfx or ""))
            found[place, kernel] = _evidence(
                row, mixes.get((row["symbol"], row["arch"]), []), device, workgroup
            )
    return found


def code_causes(evidence: CodeEvidence, kernel: str) -> list[Cause]:
    """Return the causes that the code of a kernel shows, the one that explains most first."""
    if not evidence.is_read:
        causes = [
            one for one in (_scratch(evidence, kernel), _few_waves(evidence, kernel)) if one is not None
        ]
    else:
        causes = [one for rule in _RULES if (one := rule(evidence, kernel)) is not None]
    return sorted(causes, key=lambda one: (one.certainty == "hint", -one.share))


def _fits(arch: str, device: Device) -> bool:
    return device.gfx is None or fit(arch, device.gfx) > 0


def _workgroups(ran: pl.DataFrame) -> dict[Key, int | None]:
    """Each kernel with the workgroup size of most of its time."""
    size = pl.col("workgroup_x") * pl.col("workgroup_y").fill_null(1) * pl.col("workgroup_z").fill_null(1)
    spent = (pl.col("end_ns") - pl.col("start_ns")).sum().alias("spent")
    rows = ran.with_columns(pl.col("kernel").cast(pl.String), size.alias("size"))
    ordered = (
        rows.group_by("gpu", "kernel", "size")
        .agg(spent)
        .sort("spent", "size", descending=True, nulls_last=True)
    )
    first = ordered.unique(["gpu", "kernel"], keep="first", maintain_order=True)
    return {(gpu, kernel): size for gpu, kernel, size in first.select("gpu", "kernel", "size").iter_rows()}


def _mixes(trace: Trace) -> dict[tuple[str, str], list[Mapping[str, Any]]]:
    mixes: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    rows = trace.table("code_mix").unique(maintain_order=True)
    for row in rows.iter_rows(named=True):
        mixes.setdefault((row["symbol"], row["arch"]), []).append(row)
    return mixes


def _evidence(
    row: Mapping[str, Any], mix: Sequence[Mapping[str, Any]], device: Device, workgroup: int | None
) -> CodeEvidence:
    gpu = device.gpu or device.chip
    weights = [each["count"] * _LOOP ** min(each["depth"] or 0, _DEEPEST) for each in mix]
    costs = [weight * _slots(each, row["arch"], gpu) for weight, each in zip(weights, mix, strict=True)]
    total = sum(costs) or 1.0
    balance = _balance(gpu) / total
    return CodeEvidence(
        **{name: row[name] for name in _COPIED},
        file=row["file"] or "",
        variants=row["variants"] or 1,
        unread=row["unread"] or "",
        instructions=tuple(
            Instructions(
                work=each["work"],
                dtype=each["dtype"] or "",
                width_bytes=each["width_bytes"],
                loop=each["loop"] or 0,
                depth=each["depth"] or 0,
                count=each["count"],
                weight=weight,
                slots=cost / total,
                memory=weight * (each["width_bytes"] or 0) * balance
                if each["work"] in ("load", "store")
                else 0.0,
                source=each["source"] or "",
            )
            for each, weight, cost in zip(mix, weights, costs, strict=True)
        ),
        waves=_waves(row, gpu, workgroup),
        matrix_unit=(gpu.matrix_unit or "") if gpu else "",
    )


_COPIED = (
    "symbol", "arch", "vgprs", "agprs", "sgprs", "vgpr_spills", "sgpr_spills", "scratch_bytes", "lds_bytes",
    "code_bytes", "largest_loop_bytes",
)  # fmt: skip


def _slots(row: Mapping[str, Any], arch: str, gpu: Gpu | None) -> float:
    """The issue slots that one of these instructions takes."""
    work, dtype, vendor = row["work"], row["dtype"] or "", "NVIDIA" if arch.startswith("sm_") else "AMD"
    f64 = _f64_slots(arch, gpu)
    if work == "conversion" and dtype == "f64":
        return _F64_CONVERSION_NVIDIA if vendor == "NVIDIA" else f64
    if dtype == "f64" and work in ("multiply-add", "arithmetic"):
        return f64
    by_work = {
        "special": _SPECIAL[vendor] * (f64 if dtype == "f64" and vendor == "AMD" else 1.0),
        "integer division": _SPECIAL[vendor] if vendor == "AMD" else _CONVERSION[vendor],
        "conversion": _CONVERSION[vendor],
        "barrier": _BARRIER,
        "atomic": _ATOMIC,
        "compare-and-swap": _ATOMIC,
        "wait": 0.0 if vendor == "AMD" else 1.0,
        "other": 0.0,
        **dict.fromkeys(("scalar", "branch", "scalar load"), _BESIDE if vendor == "AMD" else 1.0),
        **dict.fromkeys(("scratch load", "scratch store"), _SCRATCH),
        **dict.fromkeys(("load", "store", "LDS load", "LDS store", "LDS atomic"), _ACCESS),
        "matrix": 8.0,
    }
    return by_work.get(work, 1.0)


def _f64_slots(arch: str, gpu: Gpu | None) -> float:
    if gpu is not None and (f64 := gpu.vector_tflops.get("f64")) and (f32 := _f32_rate(gpu)):
        return max(1.0, f32 / f64)
    return _RDNA_F64 if arch.startswith("gfx1") else 1.0


def _f32_rate(gpu: Gpu) -> float:
    """TFLOP/s of f32 with one operation (a multiply-add is two) an instruction and lane."""
    return gpu.vector_tflops.get("f32", 0.0) / (2.0 if _DUAL.match(gpu.gfx) else 1.0)


def _balance(gpu: Gpu | None) -> float:
    """Instructions of f32 that each lane issues in the time in which memory moves a byte for it."""
    rate = _f32_rate(gpu) if gpu else 0.0
    return rate * 1e12 / 2 / (gpu.memory_gbps * 1e9) if gpu and rate and gpu.memory_gbps else _BALANCE


def _waves(row: Mapping[str, Any], gpu: Gpu | None, workgroup: int | None) -> Occupancy | None:
    if gpu is None or not workgroup or row["vgprs"] is None:
        return None
    try:
        return occupancy(
            gpu,
            Resources(
                vgprs=row["vgprs"],
                agprs=row["agprs"] or 0,
                sgprs=row["sgprs"] or 0,
                lds_static=row["lds_bytes"] or 0,
                workgroup_size=workgroup,
                wave_size=row["wave_size"] or gpu.wave_size,
            ),
        )
    except UsageError:  # the numbers fit no launch on this GPU
        return None


# Rules ---------------------------------------------------------------------------------------------------------------


def _cause(  # noqa: PLR0913  (what a cause consists of)
    name: str,
    kernel: str,
    of: CodeEvidence,
    *,
    share: float,
    saves: float | None,
    certainty: Certainty,
    title: str,
    evidence: Sequence[str],
) -> Cause | None:
    """A cause with the texts of the catalogue; None where it explains too little."""
    if share < _LEAST_SHARE:
        return None
    several = (
        (f"{of.variants} codes of this name were found, and this is the newest",) if of.variants > 1 else ()
    )
    return Cause(
        id=name,
        share=min(share, _MOST_SHARE),
        saves=None if saves is None else min(1 - _DOUBT * (1 - saves), _MOST_SAVED),
        certainty="hint" if several else certainty,
        title=title,
        evidence=(*evidence, *several),
        remedy=remedy(name, kernel),
        source="code",
        is_not=catalogue()[name].is_not,
    )


def _arithmetic(of: CodeEvidence, slots: float, rows: Sequence[Instructions]) -> tuple[float, Certainty]:
    """The share of the time that arithmetic with so many of the issue slots explains: less, and only a hint, where
    the bytes beside it take longer than the instructions if they come from memory."""
    beside = max(1.0, of.memory_beside(rows))
    return slots / beside, "likely" if beside == 1.0 else "hint"


def _in_loops(rows: Sequence[Instructions]) -> str:
    """Return where instructions are that are worth a word."""
    return "in a loop" if any(one.depth for one in rows) else "outside of loops"


def _accidental_f64(of: CodeEvidence, kernel: str) -> Cause | None:
    conversions = of.rows("conversion", dtype="f64")
    doubles = of.rows("multiply-add", "arithmetic", dtype="f64")
    if not conversions or not doubles or _DOUBLE.search(kernel):
        return None
    each = sum(one.weight for one in conversions) / sum(one.weight for one in doubles)
    if _keeps_doubles(of) or (each < 0.5 and 8 in of.widths("load", "store")):
        return None
    slots = of.slots("multiply-add", "arithmetic", "conversion", "special", dtype="f64")
    rows = [*doubles, *conversions]
    share, certainty = _arithmetic(of, slots, rows)
    return _cause(
        "accidental-f64",
        kernel,
        of,
        share=share,
        saves=slots,
        certainty=certainty,
        title=f"it computes with double precision between conversions from and to float {_in_loops(rows)}",
        evidence=(
            f"{of.count('multiply-add', 'arithmetic', dtype='f64'):,} double-precision instructions and "
            f"{of.count('conversion', dtype='f64'):,} conversions take about {format_share(slots)} of its issue slots"
            f"{of.where(rows)}",
        ),
    )


def _keeps_doubles(of: CodeEvidence) -> bool:
    """Whether everything that it writes is as wide as a double."""
    widths = {one.width_bytes for one in of.rows("store", "atomic", "compare-and-swap") if one.width_bytes}
    return (
        bool(widths)
        and min(widths) >= 8
        and any(one.width_bytes == 8 for one in of.rows("atomic", "compare-and-swap"))
    )


def _scratch(of: CodeEvidence, kernel: str) -> Cause | None:
    accesses = of.rows("scratch load", "scratch store")
    spilled = (of.vgpr_spills or 0) > 0
    if not of.is_read:
        return _unread_scratch(of, kernel, spilled)
    others = of.rows(*_GLOBAL, "LDS load", "LDS store", "LDS atomic")
    if not accesses:
        return None
    mine, all_of = (sum(one.weight for one in rows) for rows in (accesses, [*accesses, *others]))
    indexed = any(one.dtype == INDEXED for one in accesses)
    is_array = indexed and not spilled
    slots = of.slots("scratch load", "scratch store")
    looped = any(one.depth for one in accesses)
    what = "an array that is indexed at run time" if is_array else "spilled registers"
    return _cause(
        "private-array" if is_array else "spills" if spilled or not of.arch.startswith("gfx") else "scratch",
        kernel,
        of,
        share=slots,
        saves=None,
        certainty="likely" if looped and mine >= 0.2 * all_of else "hint",
        title=f"{format_share(mine / all_of)} of its memory instructions go to {what}, "
        f"{'in a loop' if looped else 'outside of loops'}",
        evidence=(
            f"{format_count(of.count('scratch load', 'scratch store'), 'instruction')} on the "
            f"{format_bytes(of.scratch_bytes or 0)} of scratch that each work-item has{of.where(accesses)}",
            *([f"the compiler spilled {of.vgpr_spills:,} vector registers"] if spilled else []),
        ),
    )


def _unread_scratch(of: CodeEvidence, kernel: str, spilled: bool) -> Cause | None:
    if not of.scratch_bytes:
        return None
    return _cause(
        "spills" if spilled else "scratch",
        kernel,
        of,
        share=_LEAST_SHARE,
        saves=None,
        certainty="hint",
        title=f"it keeps {format_bytes(of.scratch_bytes)} of scratch for each work-item",
        evidence=(f"how often it accesses them is not known: {of.unread}",),
    )


def _narrow(of: CodeEvidence, kernel: str) -> Cause | None:
    widths = of.widths("load", "store")
    narrow = sum(share for width, share in widths.items() if width <= 2)
    if narrow < 0.5 or of.has_matrix:
        return None
    accesses = of.rows("load", "store")
    mine = [one for one in accesses if one.width_bytes in (1, 2)]
    # A wider access takes the place of several, and of the address arithmetic and branches around each.
    around = min(of.slots("integer", "scalar", "branch", "move"), 0.5)
    share = min(sum(one.slots for one in mine) + around, 1.0) * narrow
    mean = sum(width * part for width, part in widths.items())
    bytes_only = max(widths) == 1
    return _cause(
        "narrow-accesses",
        kernel,
        of,
        share=share,
        saves=1 - mean / 16,
        certainty="likely" if bytes_only and any(one.depth for one in mine) else "hint",
        title=f"{format_share(narrow)} of its loads and stores move "
        f"{'one byte' if bytes_only else 'one or two bytes'} a lane",
        evidence=(
            f"{format_count(sum(one.count for one in mine), 'instruction')} {_in_loops(mine)}{of.where(mine)}",
        ),
    )


def _special(of: CodeEvidence, kernel: str) -> Cause | None:
    rows = of.rows("special")
    each = sum(one.weight for one in rows)
    # A division of integers has a reciprocal of its own on NVIDIA, and an exact one of floats on AMD.
    divided = sum(
        one.weight for one in of.rows("integer division" if of.arch.startswith("sm_") else "division")
    )
    if not each or divided >= 0.5 * each:
        return None
    slots = of.slots("special") * (1 - divided / each)
    share, certainty = _arithmetic(of, slots, rows)
    return (
        None
        if slots < 0.3
        else _cause(
            "special-functions",
            kernel,
            of,
            share=share,
            saves=slots,
            certainty=certainty,
            title=f"special functions (exp, log, sin, sqrt, 1/x) take about {format_share(slots)} of its issue slots",
            evidence=(
                f"{format_count(of.count('special'), 'instruction')} {_in_loops(rows)}{of.where(rows)}",
            ),
        )
    )


def _integer_division(of: CodeEvidence, kernel: str) -> Cause | None:
    rows = of.rows("integer division")
    if not rows:
        return None
    slot = next(one.slots / one.weight for one in of.instructions if one.work == "integer division")
    slot /= _slots({"work": "integer division", "dtype": ""}, of.arch, None)
    divisions = sum(one.weight for one in rows)
    # Divisions by one number in a loop: its reciprocal is made before, and each takes the high half of a product.
    highs = (
        [] if any(one.depth for one in rows) else [one for one in of.rows("integer", dtype=HIGH) if one.depth]
    )
    prepared = sum(one.weight for one in highs)
    slots = min((divisions * _DIVISION + prepared * _PREPARED_DIVISION) * slot, _MOST_SHARE)
    share, certainty = _arithmetic(of, slots, rows)
    everywhere = [*rows, *highs]
    if slots < _MUCH:
        return None
    return _cause(
        "integer-division",
        kernel,
        of,
        share=share,
        saves=slots,
        certainty=certainty,
        title=f"it divides integers by a variable {_in_loops(everywhere)}",
        evidence=(
            f"{format_count(of.count('integer division'), 'division')} of about 20 instructions each"
            f"{' and further ones by a number that does not change' if prepared else ''} take about "
            f"{format_share(slots)} of its issue slots{of.where(everywhere)}",
        ),
    )


def _conversions(of: CodeEvidence, kernel: str) -> Cause | None:
    rows = [one for one in of.rows("conversion") if one.dtype != "f64"]
    divided = sum(one.weight for one in of.rows("integer division"))
    each = sum(one.weight for one in rows)
    slots = sum(one.slots for one in rows) * max(0.0, 1 - 2 * divided / each) if each else 0.0
    share, certainty = _arithmetic(of, slots, rows)
    return (
        None
        if slots < 0.3
        else _cause(
            "conversions",
            kernel,
            of,
            share=share,
            saves=slots,
            certainty=certainty,
            title=f"conversions between types take about {format_share(slots)} of its issue slots",
            evidence=(
                f"{format_count(sum(one.count for one in rows), 'instruction')} {_in_loops(rows)}{of.where(rows)}",
            ),
        )
    )


def _barriers(of: CodeEvidence, kernel: str) -> Cause | None:
    rows = of.rows("barrier", in_loops=True)
    if not rows:
        return None
    slots = sum(one.slots for one in rows)
    loops = {one.loop for one in rows}
    inside = [one for one in of.instructions if one.loop in loops]
    between = sum(one.count for one in inside) / sum(one.count for one in rows)
    loads = any(one.work in _GLOBAL for one in inside)
    return (
        None
        if slots < 0.3
        else _cause(
            "barriers",
            kernel,
            of,
            share=slots,
            saves=None,
            certainty="likely" if between <= 24 and not loads else "hint",
            title=f"the waves of a workgroup wait for one another every {between:.0f} instructions of a loop",
            evidence=(f"{format_count(sum(one.count for one in rows), 'barrier')} in loops{of.where(rows)}",),
        )
    )


def _atomics(of: CodeEvidence, kernel: str) -> Cause | None:
    retried = of.rows("compare-and-swap", in_loops=True)
    rows = retried or of.rows("atomic", in_loops=True) or of.rows("atomic")
    slots = sum(one.slots for one in rows)
    if slots < _MUCH:
        return None
    local = any(one.dtype == LDS for one in retried)
    again = f"an atomic {'of LDS ' if local else ''}is tried again until no other lane came between"
    return _cause(
        "contended-local-atomics" if local else "contended-atomics" if retried else "many-atomics",
        kernel,
        of,
        share=slots,
        saves=None,
        certainty="hint",
        title=f"{again} (compare-and-swap)" if retried else f"it updates memory atomically {_in_loops(rows)}",
        evidence=(f"{format_count(sum(one.count for one in rows), 'atomic instruction')}{of.where(rows)}",),
    )


def _matrix_units(of: CodeEvidence, kernel: str) -> Cause | None:
    if of.has_matrix or not of.matrix_unit:
        return None
    by_name = bool(_PRODUCT.search(kernel)) or family(kernel).name in ("gemm", "convolution", "attention")
    loops = [_products(of, loop) for loop in {one.loop for one in of.instructions if one.depth}]
    share, rows = max(loops, key=lambda found: found[0], default=(0.0, []))
    tiled = (
        any(one.work == "LDS load" and one.loop == rows[0].loop for one in of.instructions) if rows else False
    )
    if share < 0.25 or not (by_name or tiled):
        return None
    half = any(one.dtype in _HALF for one in rows) or any(one.dtype in _HALF for one in of.rows("conversion"))
    return _cause(
        "matrix-units-unused",
        kernel,
        of,
        share=share,
        saves=None,
        certainty="likely" if by_name and half else "hint",
        title=f"it multiplies and adds {'half-precision numbers' if half else 'floats'} in a loop, and has no matrix "
        "instruction",
        evidence=(
            f"{format_count(sum(one.count for one in rows), 'multiply-add')}, {format_share(share)} of the loop's "
            f"instructions; the GPU has {_MATRIX_UNITS[of.matrix_unit]}{of.where(rows)}",
        ),
    )


def _products(of: CodeEvidence, loop: int) -> tuple[float, list[Instructions]]:
    """The share of multiply-adds among the instructions of a loop, and these; none where they are few."""
    own = [one for one in of.instructions if one.loop == loop]
    rows = [one for one in own if one.work == "multiply-add" and one.dtype in (*_HALF, "f32")]
    count = sum(one.count for one in rows)
    return (count / sum(one.count for one in own), rows) if count >= _FEW_PRODUCTS else (0.0, [])


def _instruction_fetch(of: CodeEvidence, kernel: str) -> Cause | None:
    size, cache = of.largest_loop_bytes or 0, _instruction_cache(of.arch)
    if size <= cache:
        return None
    return _cause(
        "instruction-fetch",
        kernel,
        of,
        share=0.3 * (1 - cache / size),
        saves=None,
        certainty="hint",
        title=f"a loop of {format_bytes(size)} of code does not fit into the instruction cache ({format_bytes(cache)})",
        evidence=(f"all of its code has {format_bytes(of.code_bytes or 0)}",),
    )


def _instruction_cache(arch: str) -> int:
    """Bytes of the instruction cache that a compute unit or two share (CDNA 3: white paper; others: ISA guides), or of
    the level 1.5 of an SM (Jia et al., Dissecting the NVIDIA Volta GPU architecture)."""
    if arch.startswith("sm_"):
        return 128 << 10
    return (64 if re.match(r"gfx9[45]", arch) else 32) << 10


def _few_waves(of: CodeEvidence, kernel: str) -> Cause | None:
    if of.waves is None or of.waves.share > _FEW_WAVES:
        return None
    limits = set(of.waves.limiters)
    name = "occupancy-registers" if "VGPRs" in limits else "occupancy-local-memory" if "LDS" in limits else ""
    if not name or of.has_matrix:  # tiles of matrix kernels fill the registers on purpose
        return None
    return _cause(
        name,
        kernel,
        of,
        share=_LEAST_SHARE,
        saves=None,
        certainty="hint",
        title=f"{' and '.join(of.waves.limiters)} leave room for {of.waves.waves_per_simd:g} of "
        f"{of.waves.max_waves_per_simd} waves per SIMD",
        evidence=tuple(map(str, of.waves.steps))
        or (f"{of.vgprs} registers, {format_bytes(of.lds_bytes or 0)} of LDS",),
    )


_RULES: tuple[Callable[[CodeEvidence, str], Cause | None], ...] = (
    _accidental_f64, _scratch, _integer_division, _special, _conversions, _narrow, _barriers, _atomics, _matrix_units,
    _instruction_fetch, _few_waves,
)  # fmt: skip
