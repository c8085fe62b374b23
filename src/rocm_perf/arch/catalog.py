"""The GPUs that are known: from the packaged files, and from a folder of the user's own."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Iterable, Sequence
from functools import cache
from importlib import resources
from pathlib import Path

from rocm_perf.arch.gpu import Gpu, Source
from rocm_perf.arch.gpu_files import Chip, Fact, Sku, build, read_chip, read_sources
from rocm_perf.arch.toml import read_toml
from rocm_perf.errors import InputError, UsageError
from rocm_perf.files import read_text

_SOURCES = "sources.toml"
_BRANDS = {"amd", "nvidia", "instinct", "radeon", "graphics", "tm"}


def gpus() -> tuple[Gpu, ...]:
    """Every GPU, AMD's first, older chips first."""
    return _all(_user_folder())


def packaged_gpus() -> tuple[Gpu, ...]:
    """The same without the user's own files."""
    return _all(None)


def known_gfx() -> tuple[str, ...]:
    return tuple(dict.fromkeys(gpu.gfx for gpu in gpus()))


def gpus_of(gfx: str) -> tuple[Gpu, ...]:
    """The products of one chip; none if the catalogue does not have it."""
    return tuple(gpu for gpu in gpus() if gpu.gfx == gfx)


def find_gpu(name: str) -> Gpu:
    """`MI300X`, `AMD Instinct MI300X`, an alias, the beginning of a name if one GPU alone has it, or a gfx."""
    wanted = name_key(name)
    found = (
        [gpu for gpu in gpus() if name_key(gpu.name) == wanted]
        or gpus_named(name)
        or gpus_of(name.lower())
        or [gpu for gpu in gpus() if wanted and name_key(gpu.name).startswith(wanted)]
    )
    if len(found) == 1:
        return found[0]
    if found:
        raise UsageError(f"{name!r} is several GPUs", next_step=f"Name one: {_listed(found)}.")
    raise UsageError(f"no GPU {name!r} is in the catalogue", next_step=_nearest(name))


def gpus_named(name: str) -> tuple[Gpu, ...]:
    """Those that bear this name, or have it as an alias; a runtime calls several products by one name at times."""
    wanted = name_key(name)
    return tuple(gpu for gpu in gpus() if wanted in map(name_key, (gpu.name, *gpu.aliases)))


def name_key(name: str) -> str:
    """What counts of a name: `AMD Radeon(TM) RX 7900 XTX` -> `7900xtx`."""
    words = re.findall(r"[a-z0-9]+", name.lower())
    return "".join(word for word in words if word not in _BRANDS).removeprefix("rx")


def _nearest(name: str) -> str:
    keys = {name_key(known): gpu.name for gpu in gpus() for known in (*gpu.aliases, gpu.name)}
    keys.update({gfx: gfx for gfx in known_gfx()})
    near = difflib.get_close_matches(name_key(name), keys, n=4, cutoff=0.5)
    if near:
        return f"Near: {', '.join(dict.fromkeys(keys[key] for key in near))}. `rocm-perf gpus` lists all."
    return "`rocm-perf gpus` lists all."


def _listed(found: Iterable[Gpu]) -> str:
    return ", ".join(gpu.name for gpu in found)


def _user_folder() -> Path:
    """Where the user's own files lie, if there are any."""
    if folder := os.environ.get("ROCM_PERF_GPUS"):
        return Path(folder)
    return Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "rocm-perf" / "gpus"


@cache
def _all(user_folder: Path | None) -> tuple[Gpu, ...]:
    chips = [*_packaged(), *(_of_user(user_folder) if user_folder else ())]
    _refuse_duplicates(chips)
    merged: dict[str, Gpu] = {}
    for position, chip in enumerate(chips):
        before = [other for other in chips[:position] if other.gfx == chip.gfx]
        for sku in chip.skus:
            merged[sku.name] = _merged(before, chip, sku)
    return tuple(merged.values())


def _merged(before: Sequence[Chip], chip: Chip, sku: Sku) -> Gpu:
    """Facts of the chip, then of the product; those of later files last."""
    facts: dict[str, Fact] = {}
    names = dict.fromkeys(sku.aliases)
    for one in (*before, chip):
        facts.update(one.facts)
    for one in (*before, chip):
        for known in one.skus:
            if known.name == sku.name:
                facts.update(known.facts)
                names.update(dict.fromkeys(known.aliases))
    words = {key: value for one in (*before, chip) for key, value in one.words.items()}
    methods = chip.methods or next((one.methods for one in before if one.methods), ())
    method_sources = {key: source for one in (*before, chip) for key, source in one.method_sources.items()}
    whole = Chip(chip.file, chip.gfx, words, {}, methods, method_sources, ())
    return build(whole, Sku(sku.name, tuple(names), {}), facts)


def _refuse_duplicates(chips: Iterable[Chip]) -> None:
    owners: dict[str, str] = {}
    for chip in chips:
        names = [sku.name for sku in chip.skus]
        for name in names:
            if names.count(name) > 1:
                raise InputError(f"{chip.file}: {name} is given twice", next_step="Leave one of them.")
            if owners.setdefault(name, chip.gfx) != chip.gfx:
                why = f"it is a GPU of {owners[name]} already"
                raise InputError(f"{chip.file}: {name} cannot be of {chip.gfx}", why, "Give it another name.")


@cache
def _packaged() -> tuple[Chip, ...]:
    folder = resources.files("rocm_perf.arch") / "gpus"
    entries = [entry for entry in folder.iterdir() if entry.name.endswith(".toml") and entry.name != _SOURCES]
    return tuple(
        read_chip(read_toml(entry.read_bytes(), entry.name), entry.name, _shared_sources())
        for entry in sorted(entries, key=lambda entry: _age(entry.name))
    )


@cache
def _shared_sources() -> dict[str, Source]:
    data = (resources.files("rocm_perf.arch") / "gpus" / _SOURCES).read_bytes()
    return read_sources(read_toml(data, _SOURCES), _SOURCES)


def _age(file: str) -> tuple[str, int, str]:
    """gfx906 before gfx1030 before sm_80."""
    stem = file.removesuffix(".toml")
    return (stem.rstrip("0123456789abcdef_"), len(stem), stem)


def _of_user(folder: Path) -> tuple[Chip, ...]:
    if not folder.is_dir():
        return ()
    return tuple(
        read_chip(read_toml(read_text(path).encode(), str(path)), str(path), _shared_sources())
        for path in sorted(folder.glob("*.toml"))
    )
