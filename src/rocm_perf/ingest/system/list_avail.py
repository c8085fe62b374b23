"""Lists of the counters that a GPU has: `rocprofv3 --list-avail` (rocprofv3-avail) and rocprof v1's
`--list-basic` and `--list-derived`."""

from __future__ import annotations

import re
from collections.abc import Iterator

import polars as pl

from rocm_perf.errors import EmptyCaptureError
from rocm_perf.ingest.io.source import Source
from rocm_perf.ingest.part import Adapter, Part, part
from rocm_perf.ingest.peek import Peek
from rocm_perf.model.run import Loss

Row = dict[str, str | bool | None]

# For lines stripped of blanks.
_FIELD = re.compile(
    r"(GPU|Name|Counter_Name|Description|Expression|Block|Method|Unit|Min_Interval|Max_Interval)\s*:\s*(.*)"
)
_V1_COUNTER = re.compile(r"gpu-agent\d+\s*:\s*(\w+)(?:\[[\d-]+\])?\s*:\s*(.*)")
_V1_BLOCK = re.compile(r"block\s+(\w+)\s+can only handle\b.*")
_V1_EXPRESSION = re.compile(r"(\w+)\s*=\s*(.+)")
_NO_LIMIT = (1 << 64) - 1


def read(source: Source) -> Part:
    content = source.read()
    losses = [Loss(source.name, content.damage)] if content.damage else []
    lines = [line.strip() for line in content.data.decode("utf-8", "replace").splitlines()]
    rows, sampling = _v3(lines)
    tool = "rocprofv3"
    if not rows and not sampling:
        rows, tool = list(_v1(lines)), "rocprof"
    if not rows and not sampling:
        raise EmptyCaptureError(
            f"{source.name} names no counter", "the list breaks off before its first entry"
        )
    schema = {"gfx": pl.String, "counter": pl.String, "block": pl.String, "expression": pl.String}
    table = pl.DataFrame(rows, schema={**schema, "description": pl.String, "derived": pl.Boolean})
    counters = table.unique(["gfx", "counter"], keep="first", maintain_order=True)  # equal GPUs list the same
    return part(tool, {"counter_info": counters}, losses, notices=tuple(dict.fromkeys(sampling)))


def _v3(lines: list[str]) -> tuple[list[Row], list[str]]:
    """Counters, and one sentence for each PC sampling method. A counter without an expression and without a
    block is a constant of the GPU."""
    rows: list[Row] = []
    sampling: list[str] = []
    gfx: str | None = None
    method: dict[str, str] = {}
    for line in lines:
        match = _FIELD.fullmatch(line)
        if not match:
            continue
        key, value = match.groups()
        if key == "Name":
            gfx = value or None
        elif key == "Counter_Name" and value:
            rows.append(
                {
                    "gfx": gfx,
                    "counter": value,
                    "description": None,
                    "expression": None,
                    "block": None,
                    "derived": None,
                }
            )
        elif key in ("Description", "Expression", "Block") and rows:
            rows[-1][key.lower()] = value or None
            rows[-1]["derived"] = {"Expression": True, "Block": False}.get(key, rows[-1]["derived"])
        elif key in ("Method", "Unit", "Min_Interval", "Max_Interval"):
            method = {} if key == "Method" else method
            method[key] = value
            if key == "Max_Interval":
                sampling.append(_sampling(gfx, method))
    return rows, sampling


def _sampling(gfx: str | None, method: dict[str, str]) -> str:
    longest = method["Max_Interval"]
    upper = "no upper limit" if longest == str(_NO_LIMIT) else f"at most {longest}"
    how = f"{method.get('Method', '?')} by {method.get('Unit', '?')}"
    lower = f"interval at least {method.get('Min_Interval', '?')}"
    return f"{gfx or 'the GPU'} can sample program counters: {how}, {lower}, {upper}"


def _v1(lines: list[str]) -> Iterator[Row]:
    row: Row | None = None
    for line in lines:
        counter, block, formula = (
            _V1_COUNTER.fullmatch(line),
            _V1_BLOCK.fullmatch(line),
            _V1_EXPRESSION.fullmatch(line),
        )
        if counter:
            if row:
                yield row
            name, text = counter.groups()
            row = {
                "gfx": None,
                "counter": name,
                "description": text or None,
                "expression": None,
                "block": None,
                "derived": None,
            }
        elif row and block:
            row |= {"block": block.group(1), "derived": False}
        elif row and formula and formula.group(1) == row["counter"]:
            row |= {"expression": formula.group(2), "derived": True}
    if row:
        yield row


def _claims(peek: Peek) -> bool:
    patterns = (r"^Counter_Name\s*:", r"^[ \t]*gpu-agent\d+\s*:\s*\w+.*:", r"^configs\s*:\s*\n\s*Method\s*:")
    return not peek.is_binary and any(re.search(pattern, peek.text, re.MULTILINE) for pattern in patterns)


ADAPTERS = (
    Adapter(
        name="counter-list",
        title="rocprofv3 --list-avail, rocprofv3-avail, rocprof --list-basic and --list-derived",
        recognised_by="lines that start Counter_Name : or gpu-agent0 :",
        claims=_claims,
        read=read,
        fills=("counter_info",),
    ),
)
