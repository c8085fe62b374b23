"""One call of a library, and the forms of text that several libraries share."""

from __future__ import annotations

import re
from dataclasses import dataclass

_PAIR = re.compile(r"(\w+): *(\"[^\"]*\"|'[^']*'|[^,{}]+)")
_ADDRESS = re.compile(r"0x[0-9a-fA-F]{5,16}")
_NUMBER = re.compile(r"-?\d[\d.e+-]*|-?(inf|nan)", re.IGNORECASE)


@dataclass(frozen=True)
class Call:
    """What a line of a log says of a call. Fields that it does not say are None or empty."""

    library: str
    call: str
    form: str  # of the log: the same call may stand in several
    calls: int = 1
    m: int | None = None
    n: int | None = None
    k: int | None = None
    batch_count: int | None = None
    transposes: str = ""
    dtypes: str = ""
    compute_type: str = ""
    solution: str = ""
    size_bytes: int | None = None
    group: str = ""
    group_size: int | None = None
    rank: int | None = None
    pid: int | None = None
    parameters: str = ""


def options(arguments: list[str]) -> dict[str, str]:
    """The options of a command line: `-m 128 --transA N --flag` -> {m: 128, transA: N, flag: ""}. A negative number
    is a value."""
    values: dict[str, str] = {}
    name = ""
    for argument in arguments:
        if argument.startswith("-") and not _NUMBER.fullmatch(argument):
            name = argument.lstrip("-")
            values[name] = ""
        elif name:
            values[name] = f"{values[name]} {argument}".strip()
    return values


def flow_mapping(text: str) -> dict[str, str]:
    """The pairs of `- { M: 128, transA: 'N', function: "gemm" }`."""
    return {name: value.strip().strip("'\"") for name, value in _PAIR.findall(text)}


def without_addresses(text: str) -> str:
    """The text without addresses: calls that differ only in where their memory lies are alike."""
    return _ADDRESS.sub("0x", text)


def whole(text: str | None) -> int | None:
    """The whole number in a text, or None."""
    return int(text) if text and re.fullmatch(r"-?\d{1,18}", text) else None


def gemm(library: str, call: str, form: str, given: dict[str, str], parameters: str) -> Call:
    """A matrix product from named parameters, whatever the library calls them."""
    low = {name.lower(): value for name, value in given.items()}
    types = [low.get(f"{operand}_type", "") for operand in "abcd"]
    transposes = [low.get(f"transpose{x}") or low.get(f"trans{x}") or "" for x in "ab"]
    return Call(
        library,
        call,
        form,
        calls=whole(low.get("call_count")) or 1,
        m=whole(low.get("m")),
        n=whole(low.get("n")),
        k=whole(low.get("k")),
        batch_count=whole(low.get("batch_count")),
        transposes="".join(transposes),
        dtypes=",".join(types) if all(types) else low.get("r", ""),
        compute_type=low.get("compute_type", ""),
        solution=low.get("solution_index", ""),
        parameters=without_addresses(parameters),
    )
