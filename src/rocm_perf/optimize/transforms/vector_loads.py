"""Four elements in one access: a loop over `x[i]` reads `float4` where the address allows it. The new loop asks for
the alignment when it runs and keeps the old one for the rest, so it is right for every argument."""

from __future__ import annotations

from rocm_perf.optimize.candidate import Edit
from rocm_perf.optimize.source.loops import Loop, loops_of
from rocm_perf.optimize.source.model import Kernel
from rocm_perf.optimize.source.parse import Source
from rocm_perf.optimize.source.tree import below, span_of, text_of
from rocm_perf.optimize.transforms.loop_text import Head, body_text, grouped, head_of, replaced, unused_name
from rocm_perf.optimize.transforms.setting import Setting
from rocm_perf.optimize.transforms.transform import Proposals, Transform
from rocm_perf.optimize.transforms.vector_rows import VECTORS, Row, rows_of
from rocm_perf.optimize.transforms.vector_safety import VECTOR_BYTES, Visit, own_start, reason_against

_LANES = "xyzw"


def propose(source: Source, kernel: Kernel, setting: Setting, proposals: Proposals) -> None:
    """Every innermost loop that visits elements of four bytes one after the other: all together, then each."""
    edits: list[tuple[int, Edit]] = []
    for loop in loops_of(source, kernel):
        rows = rows_of(kernel, loop) if loop.induction is not None and not loop.contents.loops else []
        if not rows:
            continue
        reason = reason_against(Visit(source=source, kernel=kernel, setting=setting, loop=loop, rows=rows))
        if reason is not None:
            proposals.refuse(f"four elements at once: loop in line {loop.line}", reason)
        else:
            start = own_start(source, kernel, loop)
            edits.append((loop.line, replaced(source, loop, _vectorised(source, loop, rows, start))))
    if len(edits) > 1:
        lines = ", ".join(str(line) for line, _ in edits)
        proposals.propose(f"four elements at once: loops in lines {lines}", *(edit for _, edit in edits))
    for line, edit in edits:
        proposals.propose(f"four elements at once: loop in line {line}", edit)


def _vectorised(source: Source, loop: Loop, rows: list[Row], start: int | None) -> str:
    """The loop over whole vectors, and the old one for what is left. `start`: where each thread begins by itself."""
    assert loop.induction is not None
    head, body = head_of(loop.induction), body_text(source, loop)
    index, whole = unused_name(source, f"{head.name}_vector"), unused_name(source, f"{head.name}_vectors")
    first = head.start if start is None else str(start // 4)
    rest = f"4 * {whole} + {head.start}" if start is None else f"4 * {whole}"
    if start:
        rest = f"{rest} > {start} ? {rest} : {start}"
    return (
        f"{{\nconst {head.type} {whole} = {_aligned(rows)} ? {grouped(head.bound)} / 4 : 0;\n"
        f"for ({head.type} {index} = {first}; {index} < {whole}; {index} += {head.step}) {{\n"
        f"{_steps(source, loop, rows, head=head, index=index)}\n}}\n"
        f"for ({head.type} {head.name} = {rest}; {head.name} < {head.bound}; {head.name} += {head.step}) {{\n"
        f"{body}\n}}\n}}"
    )


def _aligned(rows: list[Row]) -> str:
    addresses = " | ".join(f"reinterpret_cast<unsigned long long>({row.address})" for row in rows)
    return f"(({addresses}) & {VECTOR_BYTES - 1}ull) == 0"


def _steps(source: Source, loop: Loop, rows: list[Row], *, head: Head, index: str) -> str:
    """Loads, the body for each of four elements, stores."""
    names = {id(row): unused_name(source, f"{row.pointer}_vector{number}") for number, row in enumerate(rows)}
    loads = "\n".join(_load(row, names[id(row)], index) for row in rows)
    counts = _uses_counter(loop, rows)
    bodies = []
    for position, lane in enumerate(_LANES):
        edits = [
            Edit(place.start_byte, place.end_byte, f"{names[id(row)]}.{lane}".encode())
            for row in rows
            for place in row.places
        ]
        own = f"const {head.type} {head.name} = 4 * {index} + {position};\n" if counts else ""
        bodies.append(f"{{\n{own}{body_text(source, loop, edits)}\n}}")
    stores = [
        f"reinterpret_cast<{VECTORS[row.element]}*>({row.address})[{index}] = {names[id(row)]};"
        for row in rows
        if row.written
    ]
    return "\n".join((loads, *bodies, *stores))


def _uses_counter(loop: Loop, rows: list[Row]) -> bool:
    """Whether the body needs the loop's variable for more than its elements."""
    assert loop.induction is not None
    body = loop.node.child_by_field_name("body")
    elements = [span_of(place) for row in rows for place in row.places]
    counters = (
        [each for each in below(body, "identifier") if text_of(each) == loop.induction.name] if body else []
    )
    return any(not any(span.holds(span_of(each)) for span in elements) for each in counters)


def _load(row: Row, name: str, index: str) -> str:
    type_ = VECTORS[row.element]
    if not row.read and row.written:
        return f"{type_} {name};"
    const = "" if row.written else "const "
    return f"{const}{type_} {name} = reinterpret_cast<const {type_}*>({row.address})[{index}];"


TRANSFORM = Transform(name="vector loads", ranks={"memory": 1, "latency": 4, "unknown": 4}, propose=propose)
