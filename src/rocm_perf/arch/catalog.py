"""The GPUs that are known: from the packaged files, and from a folder of the user's own."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Iterable, Sequence
from importlib import resources
from pathlib import Path

from rocm_perf.arch.gpu import Gpu, Source
from rocm_perf.arch.gpu_files import Chip, Fact, Sku, build, read_chip, read_sources
from rocm_perf.arch.toml import read_toml
from rocm_perf.errors import InputError, UsageError
from rocm_perf.files import read_text
from rocm_perf.once import once

_SOURCES = "sources.toml"
_SHORTEST = 3  # letters of the end of a name that mean it: `R9700` for AMD Radeon AI PRO R9700
_BRANDS = {"amd", "nvidia", "instinct", "radeon", "graphics", "tm"}


def gpus() -> tuple[Gpu, ...]:
    """Every GPU of the catalogue, AMD's first, older chips first."""
    return _all(user_folder())


def packaged_gpus() -> tuple[Gpu, ...]:
    """The GPUs of the packaged files, without the user's own."""
    return _all(None)


def known_gfx() -> tuple[str, ...]:
    """The gfx of every chip, each once."""
    return tuple(dict.fromkeys(gpu.gfx for gpu in gpus()))


def gpus_of(gfx: str) -> tuple[Gpu, ...]:
    """The products of one chip; empty if the catalogue does not have it."""
    return tuple(gpu for gpu in gpus() if gpu.gfx == gfx)


def method_refusal(gfx: str, name: str, rocm: str) -> str:
    """Return why a way of measuring does not work on a chip with a ROCm release; empty where it does or may."""
    chip = gfx.partition(":")[0]
    products = gpus_of(chip)
    known = (
        next((method for method in products[0].methods if method.name == name), None) if products else None
    )
    if known is None:
        return ""
    if known.works == "no":
        return f"not on {chip}: {known.reason}" if known.reason else f"not on {chip}"
    release = _release(rocm)
    if release and known.since and _release(known.since) > release:
        return f"{chip} has it from ROCm {known.since} on, and this is {rocm}"
    if release and known.until and _release(known.until) < release:
        return f"{chip} had it until ROCm {known.until}, and this is {rocm}"
    return ""


def _release(rocm: str) -> tuple[int, ...]:
    """Return the two numbers that name a release: 7.2.0-43 -> (7, 2); empty for what is none."""
    return tuple(map(int, re.findall(r"\d+", rocm)[:2]))


def find_gpu(name: str) -> Gpu:
    """The GPU with this name, alias or gfx, or the only one whose name begins or ends like this: `MI300X`."""
    wanted = name_key(name)
    candidates = (
        [gpu for gpu in gpus() if name_key(gpu.name) == wanted]
        or gpus_named(name)
        or gpus_of(name.lower())
        or [gpu for gpu in gpus() if wanted and name_key(gpu.name).startswith(wanted)]
        or [gpu for gpu in gpus() if len(wanted) > _SHORTEST and name_key(gpu.name).endswith(wanted)]
    )
    if len(candidates) == 1:
        return candidates[0]
    if candidates:
        names = ", ".join(gpu.name for gpu in candidates)
        raise UsageError(f"{name!r} matches several GPUs", next_step=f"Choose one: {names}.")
    raise UsageError(f"no GPU {name!r} is in the catalogue", next_step=_nearest(name))


def gpus_named(name: str) -> tuple[Gpu, ...]:
    """The GPUs with this name or alias; runtimes sometimes use one name for several products."""
    wanted = name_key(name)
    return tuple(gpu for gpu in gpus() if wanted in map(name_key, (gpu.name, *gpu.aliases)))


def name_key(name: str) -> str:
    """The part of a name that tells GPUs apart: `AMD Radeon(TM) RX 7900 XTX` -> `7900xtx`."""
    parts = re.findall(r"[a-z0-9]+", name.lower())
    return "".join(part for part in parts if part not in _BRANDS).removeprefix("rx")


def _nearest(name: str) -> str:
    keys = {name_key(known): gpu.name for gpu in gpus() for known in (*gpu.aliases, gpu.name)}
    keys.update({gfx: gfx for gfx in known_gfx()})
    near = difflib.get_close_matches(name_key(name), keys, n=4, cutoff=0.5)
    if near:
        return f"Near: {', '.join(dict.fromkeys(keys[key] for key in near))}. `rocm-perf gpus` lists all."
    return "`rocm-perf gpus` lists all."


def user_folder() -> Path:
    """The folder of the user's own files, whether or not it exists."""
    if folder := os.environ.get("ROCM_PERF_GPUS"):
        return Path(folder)
    return Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "rocm-perf" / "gpus"


@once
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
    """One product with the facts of its chip and its own; a later file overrides an earlier one."""
    facts: dict[str, Fact] = {}
    names = dict.fromkeys(sku.aliases)
    files = (*before, chip)
    for file in files:
        facts.update(file.facts)
    for file in files:
        for known in file.skus:
            if known.name == sku.name:
                facts.update(known.facts)
                names.update(dict.fromkeys(known.aliases))
    labels = {key: value for file in files for key, value in file.labels.items()}
    methods = chip.methods or next((file.methods for file in before if file.methods), ())
    method_sources = {key: source for file in files for key, source in file.method_sources.items()}
    whole = Chip(
        file=chip.file,
        gfx=chip.gfx,
        labels=labels,
        facts={},
        methods=methods,
        method_sources=method_sources,
        skus=(),
    )
    return build(whole, Sku(sku.name, tuple(names), {}), facts)


def _refuse_duplicates(chips: Iterable[Chip]) -> None:
    owners: dict[str, str] = {}
    for chip in chips:
        names = [sku.name for sku in chip.skus]
        for name in names:
            if names.count(name) > 1:
                raise InputError(f"{chip.file}: {name} is given twice", next_step="Leave one of them.")
            if owners.setdefault(name, chip.gfx) != chip.gfx:
                why = f"it is already a GPU of {owners[name]}"
                raise InputError(
                    f"{chip.file}: {name} cannot be a GPU of {chip.gfx}", why, "Give it another name."
                )


@once
def _packaged() -> tuple[Chip, ...]:
    folder = resources.files("rocm_perf.arch") / "gpus"
    entries = [entry for entry in folder.iterdir() if entry.name.endswith(".toml") and entry.name != _SOURCES]
    return tuple(
        read_chip(read_toml(entry.read_bytes(), entry.name), entry.name, _shared_sources())
        for entry in sorted(entries, key=lambda entry: _age(entry.name))
    )


@once
def _shared_sources() -> dict[str, Source]:
    data = (resources.files("rocm_perf.arch") / "gpus" / _SOURCES).read_bytes()
    return read_sources(read_toml(data, _SOURCES), _SOURCES)


def _age(file: str) -> tuple[str, int, str]:
    """A key that sorts older chips first: gfx906, gfx1030, sm_80."""
    stem = file.removesuffix(".toml")
    return (stem.rstrip("0123456789abcdef_"), len(stem), stem)


def _of_user(folder: Path) -> tuple[Chip, ...]:
    if not folder.is_dir():
        return ()
    return tuple(
        read_chip(read_toml(read_text(path).encode(), str(path)), str(path), _shared_sources())
        for path in sorted(folder.glob("*.toml"))
    )
