"""GPUs of the catalogue in a terminal: a table of many, or everything about one with the source of every number."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal

import msgspec
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from rocm_perf.arch.gpu import Gpu, Method, Source
from rocm_perf.render.grid import GridColumn, fitted
from rocm_perf.units import format_bytes

_WIDE = 120
_TITLES = {
    "compute_units": "compute units",
    "simds_per_cu": "SIMDs per compute unit",
    "dies": "dies",
    "shader_engines": "shader engines of a die",
    "arrays_per_engine": "shader arrays of an engine",
    "wave_sizes": "wave sizes",
    "max_waves_per_simd": "waves per SIMD",
    "vgprs_per_simd": "VGPRs per SIMD and lane",
    "vgpr_granule": "VGPR granule",
    "max_vgprs": "VGPRs per wave",
    "unified_agprs": "AGPRs in the same file",
    "sgprs_per_simd": "SGPRs per SIMD",
    "sgpr_granule": "SGPR granule",
    "max_sgprs": "SGPRs per wave",
    "max_workgroup_size": "work-items per work-group",
    "max_workgroups_per_cu": "work-groups per compute unit",
    "lds_bytes": "LDS",
    "cus_per_lds": "compute units that share it",
    "max_lds_per_workgroup": "LDS per work-group",
    "lds_granule": "LDS granule",
    "lds_banks": "LDS banks",
    "lds_bank_bytes": "LDS bank, read in a clock",
    "l1_bytes": "L1",
    "l1_line_bytes": "L1 line",
    "l2_bytes": "L2",
    "l2_channels": "L2 channels",
    "l2_channel_bytes": "read by each in a clock",
    "last_level_bytes": "Infinity Cache",
    "clock_mhz": "clock",
    "memory_kind": "memory",
    "memory_bytes": "memory size",
    "memory_bus_bits": "memory bus",
    "memory_gbps_per_pin": "data rate per pin",
    "memory_gbps": "memory bandwidth",
    "link_kind": "links to other GPUs",
    "links": "links",
    "link_gbps": "one link, one direction",
    "links_per_peer": "links to each other GPU",
    "vector_tflops": "vector",
    "matrix_tflops": "matrix",
    "board_power_w": "board power",
    "gpus_per_power_sensor": "GPUs that share a power sensor",
    "cycles_per_wave_count": "clocks per count of SQ_WAVE_CYCLES",
    "device_ids": "PCI ids",
}
_UNITS = {
    "clock_mhz": "MHz",
    "memory_bus_bits": "bit",
    "memory_gbps_per_pin": "Gbit/s",
    "memory_gbps": "GB/s",
    "board_power_w": "W",
    "link_gbps": "GB/s",
}
_ABSENT = {
    "sgprs_per_simd": "no limit",
    "sgpr_granule": "no limit",
    "max_sgprs": "none",
    "last_level_bytes": "none",
}
# Listed only where the catalogue has them: most GPUs have no such thing, or nobody asks for it.
_OF_SOME = ("shader_engines", "arrays_per_engine", "gpus_per_power_sensor", "cycles_per_wave_count")
_SIZES = (
    "lds_bytes",
    "max_lds_per_workgroup",
    "lds_granule",
    "lds_bank_bytes",
    "l1_bytes",
    "l1_line_bytes",
    "l2_bytes",
    "l2_channel_bytes",
    "last_level_bytes",
    "memory_bytes",
)


def gpu_table(gpus: Sequence[Gpu], width: int) -> Table:
    """One line per GPU; a wide terminal shows more columns."""
    columns = [
        GridColumn("name", [short_name(gpu) for gpu in gpus], numeric=False),
        GridColumn("gfx", [gpu.gfx for gpu in gpus], numeric=False),
        _numbers("CUs", [gpu.compute_units for gpu in gpus]),
        _numbers("MHz", [gpu.clock_mhz for gpu in gpus]),
        _numbers("GiB", [gpu.memory_bytes and gpu.memory_bytes >> 30 for gpu in gpus]),
        _numbers("GB/s", [gpu.memory_gbps for gpu in gpus]),
        _rates("f32", [gpu.vector_tflops.get("f32") for gpu in gpus]),
        _rates("f16 mat", [gpu.matrix_tflops.get("f16") for gpu in gpus]),
        GridColumn("counters", [_since(gpu, "counters") for gpu in gpus], numeric=False),
    ]
    if width >= _WIDE:
        columns[8:8] = [
            _rates("f64", [gpu.vector_tflops.get("f64") for gpu in gpus]),
            _rates("f8 mat", [gpu.matrix_tflops.get("f8") for gpu in gpus]),
            _numbers("L2 MiB", [gpu.l2_bytes and gpu.l2_bytes >> 20 for gpu in gpus]),
        ]
        for heading, name in (
            ("host trap", "pc_sampling_host_trap"),
            ("stochastic", "pc_sampling_stochastic"),
        ):
            columns.append(GridColumn(heading, [_since(gpu, name) for gpu in gpus], numeric=False))
        columns += [
            GridColumn(name, [_since(gpu, name) for gpu in gpus], numeric=False)
            for name in ("att", "roofline")
        ]
    return fitted(columns, width)


def gpu_blocks(gpu: Gpu) -> Iterator[RenderableType]:
    """Everything about one GPU, its numbers marked with their sources."""
    sources = numbered(gpu)
    yield f"[bold]{gpu.name}[/]  [dim]{gpu.gfx}, {gpu.vendor} {gpu.family}[/]"
    if gpu.aliases:
        yield f"[dim]also {', '.join(gpu.aliases)}[/]"
    yield ""
    yield _sourced((title, value, source, sources) for title, value, source in facts(gpu))
    yield "\n[bold]Profiling methods[/]"
    yield _sourced(
        (
            method.name.replace("_", " "),
            method_text(method),
            gpu.sources.get(f"methods.{method.name}"),
            sources,
        )
        for method in gpu.methods
    )
    yield "\n[bold]Sources[/]"
    table = _plain("right", "left")
    for source, number in sources.items():
        table.add_row(str(number), Text(source_text(source)))
    yield table


def _sourced(rows: Iterable[tuple[str, str, Source | None, Mapping[Source, int]]]) -> Table:
    table = _plain("left", "left", "right")
    for title, value, source, numbers in rows:
        table.add_row(title, Text(value), "" if source is None else f"[dim]\\[{numbers[source]}][/]")
    return table


def facts(gpu: Gpu) -> Iterator[tuple[str, str, Source | None]]:
    """Title, value and source of every fact; an unknown value says so."""
    for field in msgspec.structs.fields(Gpu):
        value = getattr(gpu, field.name)
        if field.name not in _TITLES or value == () or (value is None and field.name in _OF_SOME):
            continue
        title = _TITLES[field.name]
        if isinstance(value, Mapping):
            for entry, number in value.items():
                path = f"{field.name}.{entry}"
                yield (
                    f"{title} {_entry(entry)}",
                    _entry_value(entry, number),
                    gpu.sources.get(path),
                )
        elif value is None:
            yield title, _ABSENT.get(field.name, "unavailable: no source found"), None
        else:
            yield title, _value(field.name, value), gpu.sources.get(field.name)


def numbered(gpu: Gpu) -> dict[Source, int]:
    """Every source and its number, in the order of the facts."""
    named = [source for _, _, source in facts(gpu) if source is not None]
    named += [source for path, source in gpu.sources.items() if path.startswith("methods.")]
    return {source: number for number, source in enumerate(dict.fromkeys(named), start=1)}


def source_text(source: Source) -> str:
    """Title, note and address of a source."""
    note = f" ({source.note})" if source.note else ""
    return f"{source.title}{note}{' ' if source.url else ''}{source.url}"


def method_text(method: Method) -> str:
    """Whether a method works, in which ROCm releases, and why not."""
    since = f" since ROCm {method.since}" if method.since else ""
    until = f" until ROCm {method.until}" if method.until else ""
    return f"{method.works}{since}{until}" + (f": {method.reason}" if method.reason else "")


def short_name(gpu: Gpu) -> str:
    """The product's name without its vendor."""
    return gpu.name.removeprefix(f"{gpu.vendor} ")


def _value(field: str, value: Any) -> str:
    if field in _SIZES:
        return format_bytes(value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, tuple):
        return ", ".join(map(str, value))
    if isinstance(value, str):
        return value
    return f"{value:g} {_UNITS.get(field, '')}".rstrip()


def _entry(entry: object) -> str:
    return f"(wave {entry})" if isinstance(entry, int) else str(entry).replace("_", " ")


def _entry_value(entry: object, number: float) -> str:
    if isinstance(entry, int):
        return f"{number}"
    return f"{number:g} {'TOP/s' if entry == 'i8' else 'TFLOP/s'}"


def _since(gpu: Gpu, name: str) -> str:
    """Whether a method works; "7.2+" for one that does since ROCm 7.2."""
    for method in gpu.methods:
        if method.name == name:
            return f"{method.since}+" if method.works == "yes" and method.since else method.works
    return "untested"


def _numbers(heading: str, values: Sequence[float | None]) -> GridColumn:
    return GridColumn(heading, ["-" if value is None else f"{value:.0f}" for value in values], numeric=True)


def _rates(heading: str, values: Sequence[float | None]) -> GridColumn:
    return GridColumn(heading, ["-" if value is None else f"{value:.1f}" for value in values], numeric=True)


def _plain(*justify: Literal["left", "right"]) -> Table:
    table = Table(box=None, pad_edge=False, show_header=False)
    for side in justify:
        table.add_column(justify=side, overflow="fold")
    return table
