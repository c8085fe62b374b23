"""HLO operations as operators: one row for each execution, inside the JAX primitive, the line of the program and the
scopes that it comes from.

An operation shows in what carries its name: the calls that launch its kernels, or, where these are not recorded, what
ran on the device, or on the threads of the CPU. Carriers of one operation that follow one another on a track are one
execution of it, and operations of one scope that do, one stay in it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import msgspec
import polars as pl

from rocm_perf.ingest.io.protobuf import BrokenMessageError
from rocm_perf.ingest.xplane.hlo import Collective, Instruction, Program
from rocm_perf.ingest.xplane.hlo_cost import cost_of, holds_products

CARRIER = {
    "tid": pl.Int64, "start_ns": pl.Int64, "end_ns": pl.Int64, "program_id": pl.Int64, "hlo_module": pl.String,
    "hlo_op": pl.String, "scope": pl.String, "tf_op": pl.String, "long_name": pl.String, "flops": pl.Float64,
    "bytes_accessed": pl.Float64, "run_id": pl.Int64, "carried": pl.String,
}  # fmt: skip
_KEY = ["program_id", "hlo_module", "hlo_op"]
_DIFFERENTIATED = re.compile(r"(transpose\()?jvp\((.*?)\)(?(1)\))")
_DEEPEST = 24  # scopes; what lies deeper counts for the last of them
_MOST_BYTES = 1 << 62
_STATED = "XLA's cost analysis"
_COUNTED = "the shapes in its HLO"


class Description(msgspec.Struct, frozen=True):
    """What is known of one operation of one program."""

    path: tuple[tuple[str, str], ...]  # category and name of everything around it, outermost first
    name: str
    shapes: str | None
    dtypes: str | None
    facts: str | None
    collective: Collective | None
    sent_bytes: int | None
    dtype: str | None


class Programs:
    """The compiled programs of a file, decoded when one is first asked for."""

    def __init__(self, contents: Mapping[int, bytes]) -> None:
        self._contents = contents
        self._decoded: dict[int, Program | None] = {}
        self.broken = 0

    def instruction(self, number: int | None, operation: str) -> tuple[Program, Instruction] | None:
        """The operation of a program, and the program; None where the file does not hold it."""
        program = None if number is None else self._program(number)
        found = program.instructions.get(operation) if program else None
        return (program, found) if program and found else None

    def _program(self, number: int) -> Program | None:
        if number not in self._decoded:
            self._decoded[number] = self._decode(self._contents.get(number))
        return self._decoded[number]

    def _decode(self, content: bytes | None) -> Program | None:
        if content is None:
            return None
        try:
            return Program(content)
        except BrokenMessageError:
            self.broken += 1
            return None


class Operations:
    """The operators of a recording. `carriers` has the columns of CARRIER, in any order."""

    def __init__(self, carriers: pl.DataFrame, programs: Programs) -> None:
        ordered = carriers.with_row_index("carrier").sort("tid", "start_ns", maintain_order=True)
        self._carriers = ordered.with_columns(_run()).with_columns(
            pl.struct("tid", *_KEY, "run").rle_id().cast(pl.Int64).alias("op_id") + 1
        )
        distinct = self._carriers.unique(_KEY, keep="first", maintain_order=True)
        self.descriptions = {
            tuple(row[name] for name in _KEY): _described(row, programs)
            for row in distinct.iter_rows(named=True)
        }

    @property
    def op_ids(self) -> pl.Series:
        """The operator of each carrier, in the order in which they were given."""
        return self._carriers.sort("carrier")["op_id"]

    def rows(self) -> pl.DataFrame:
        """All operators and what is around them, the outer before the inner."""
        span = [pl.col("start_ns").min(), pl.col("end_ns").max()]
        executed = self._carriers.group_by("op_id", maintain_order=True).agg(
            *span, pl.col("tid", "run", *_KEY).first()
        )
        known = executed.join(self._table(), on=_KEY, how="left", nulls_equal=True, maintain_order="left")
        depth = max((len(each.path) for each in self.descriptions.values()), default=0)
        around = [_stays(known, level, span) for level in range(depth)]
        operators = known.select(
            "tid", "start_ns", "end_ns", "op_id", "name", "shapes", "dtypes", "inputs",
            pl.lit("operator").alias("category"),
        )  # fmt: skip
        return pl.concat([*around, operators], how="diagonal")

    def collectives(self, kernels: pl.DataFrame) -> pl.DataFrame:
        """The kernels that communicate, with what their operation says of the communication."""
        rows = [
            (*key, each.collective.name, each.collective.group_size, each.sent_bytes, each.dtype)
            for key, each in self.descriptions.items()
            if each.collective is not None
        ]
        schema = {name: kernels.schema[name] for name in _KEY} | {
            "name": pl.String, "group_size": pl.Int64, "size_bytes": pl.Int64, "dtype": pl.String
        }  # fmt: skip
        talking = pl.DataFrame(rows, schema=schema, orient="row")
        columns = ("start_ns", "end_ns", "agent_id", "stream_id", "correlation_id")
        return kernels.join(talking, on=_KEY, nulls_equal=True, maintain_order="left").select(
            "name", "group_size", "size_bytes", "dtype", *columns
        )

    def _table(self) -> pl.DataFrame:
        rows = [
            (*key, each.name, each.shapes, each.dtypes, each.facts, [list(place) for place in each.path])
            for key, each in self.descriptions.items()
        ]
        schema = {name: CARRIER[name] for name in _KEY} | dict.fromkeys(
            ("name", "shapes", "dtypes", "inputs"), pl.String
        )
        return pl.DataFrame(rows, schema={**schema, "path": pl.List(pl.List(pl.String))}, orient="row")


def _run() -> pl.Expr:
    """Which execution of its program a carrier belongs to, on its track: as recorded, else by counting. What a program
    carries least often it carries once each time."""
    kind = ["tid", *_KEY, "carried"]
    nth, total = pl.int_range(pl.len()).over(kind), pl.len().over(kind).cast(pl.Int64)
    executions = total.min().over("tid", "program_id", "hlo_module")
    return pl.coalesce("run_id", nth * executions // total).alias("run")


def _stays(executed: pl.DataFrame, level: int, span: list[pl.Expr]) -> pl.DataFrame:
    """The time from the first to the last of operations that follow one another inside the same place of a level."""
    within = executed.filter(pl.col("path").list.len() > level).with_columns(
        pl.col("path").list.head(level + 1).alias("place")
    )
    stay = pl.struct("tid", "run", pl.col("place").hash()).rle_id().alias("stay")
    last = pl.col("place").list.get(level).first()
    return (
        within.with_columns(stay)
        .group_by("stay", maintain_order=True)
        .agg(*span, pl.col("tid").first(), last.alias("place"))
        .select(
            "tid",
            "start_ns",
            "end_ns",
            pl.col("place").list.get(0).alias("category"),
            pl.col("place").list.get(1).alias("name"),
        )
    )


def _described(row: Mapping[str, object], programs: Programs) -> Description:
    operation, module = str(row["hlo_op"]), str(row["hlo_module"] or "")
    number = row["program_id"]
    known = programs.instruction(number if isinstance(number, int) else None, operation)
    stated = next((str(row[name]) for name in ("scope", "tf_op") if "/" in str(row[name] or "")), "")
    if known is None:
        path = _path(module, stated, "")
        return Description(path, operation, None, None, _stated(row), None, None, None)
    program, instruction = known
    arguments = instruction.arguments
    collective = program.collective(instruction)
    sent_bytes = sum(shape.size_bytes for shape in arguments)
    return Description(
        path=_path(module or program.name, program.op_name(instruction) or stated, program.site(instruction)),
        name=_label(instruction),
        shapes=_json([list(shape.sizes) for shape in arguments]),
        dtypes=_json([shape.dtype for shape in arguments]),
        facts=_stated(row) or _counted(program, instruction),
        collective=collective,
        sent_bytes=sent_bytes if collective and sent_bytes < _MOST_BYTES else None,
        dtype=arguments[0].dtype if arguments else None,
    )


def _path(module: str, op_name: str, site: str) -> tuple[tuple[str, str], ...]:
    """`jit(step)/layer0/dot_general` in the program jit_step: its scopes, the line of the source, and the primitive."""
    places = _split(op_name.removesuffix(":"))
    if places and module == places[0].replace("(", "_").rstrip(")"):
        places = places[1:]
    inner = [name for name in map(untransformed, places[:-1]) if name]
    scopes = [module, *inner] if module else inner
    line = [("python", site)] if site else []
    primitive = [("operator", places[-1])] if places else []
    return (*(("module", scope) for scope in scopes[:_DEEPEST]), *line, *primitive)


def untransformed(scope: str) -> str:
    """What JAX differentiated, without the transforms around it: `layer` of `jvp(layer)`, and `layer (backward)` of
    `transpose(jvp(layer))`, since what is transposed is the backward pass. Nothing of `jvp()`, which names no scope."""
    match = _DIFFERENTIATED.fullmatch(scope)
    if match is None:
        return scope
    return f"{match[2]} (backward)".strip() if match[1] else match[2]


def _split(op_name: str) -> list[str]:
    """The parts between slashes that are in no parentheses."""
    parts, depth, begin = [], 0, 0
    for place, letter in enumerate(op_name):
        depth += (letter == "(") - (letter == ")")
        if letter == "/" and depth <= 0:
            parts.append(op_name[begin:place])
            begin = place + 1
    return [part for part in (*parts, op_name[begin:]) if part]


def _label(instruction: Instruction) -> str:
    target = instruction.target
    says_it = not target or target in instruction.name
    return instruction.name if says_it else f"{instruction.name} ({target})"


def _stated(row: Mapping[str, object]) -> str | None:
    """The cost that XLA wrote beside the operation; none where it wrote none."""
    flops, moved = (row[name] for name in ("flops", "bytes_accessed"))
    if not isinstance(flops, float) and not isinstance(moved, float):
        return None
    amounts = {
        name: int(value) for name, value in (("flops", flops), ("bytes", moved)) if isinstance(value, float)
    }
    return _json({"flops": 0, **amounts, "formula": _STATED})


def _counted(program: Program, instruction: Instruction) -> str:
    cost = cost_of(program, instruction)
    fused = dict.fromkeys(each.op_name.rsplit("/", 1)[-1] for each in program.inside(instruction))
    return _json(
        {
            "opcode": instruction.opcode,
            "flops": cost.flops,
            "bytes": cost.bytes,
            "formula": f"{cost.formula} ({_COUNTED})" if cost.flops is not None else cost.formula,
            "doubt": cost.doubt or None,
            "products": holds_products(program, instruction),
            "fuses": [name for name in fused if name],
        }
    )


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()
