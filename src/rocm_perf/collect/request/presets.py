"""What users ask for in one word: a file each in presets/, and the names that configuration files give them."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from functools import cache
from importlib import resources
from types import MappingProxyType
from typing import Literal

import msgspec

from rocm_perf.arch.toml import read_toml
from rocm_perf.backends.base import Domain, PcSampling, Wish
from rocm_perf.errors import UsageError

DEFAULT = "auto"
ALIASES = {"agent_counter": "agent_full"}  # names that configuration files have for a preset
_PREFIXES = ("rocprofv3_", "rocprof_")
_ORDER = (
    "auto", "lightweight", "compute", "memory", "communication", "full", "perfetto", "api_overhead", "pc_sampling",
    "att", "hip_only", "sys", "runtime", "agent", "agent_full", "timing",
)  # fmt: skip


class Preset(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A preset as its file has it."""

    title: str
    overhead: Literal["none", "low", "medium", "high"]  # to expect, not measured
    domains: tuple[Domain, ...] = ()
    counters: tuple[str, ...] = ()  # sets of counters
    pc_sampling: PcSampling | None = None
    att: bool = False
    stats: bool = False
    formats: tuple[str, ...] = ()

    @property
    def wish(self) -> Wish:
        """What to record, but for the counters."""
        return Wish(
            domains=self.domains,
            pc_sampling=self.pc_sampling,
            att=self.att,
            stats=self.stats,
            formats=self.formats,
        )


@cache
def presets() -> Mapping[str, Preset]:
    """Every preset by its name, the usual ones first."""
    folder = resources.files("rocm_perf.collect.request") / "presets"
    return MappingProxyType(
        {
            name: msgspec.convert(read_toml((folder / f"{name}.toml").read_bytes(), name), Preset)
            for name in _ORDER
        }
    )


def preset_name(name: str) -> str:
    """The plain name of a preset, `compute` for `rocprofv3_compute`; an unknown one is refused with the nearest."""
    plain = name
    for prefix in _PREFIXES:
        plain = plain.removeprefix(prefix)
    plain = ALIASES.get(plain, plain)
    if plain in presets():
        return plain
    near = difflib.get_close_matches(plain[:40], presets(), n=1, cutoff=0.5)
    hint = f"the nearest is {near[0]}" if near else ""
    raise UsageError(f"there is no preset {name[:40]!r}", hint, f"Known: {', '.join(presets())}.")


def preset(name: str) -> Preset:
    return presets()[preset_name(name)]
