"""Which GPU of AMD's is profiled, with which release of ROCm, and what the catalogue says of the ways to look at it."""

from __future__ import annotations

from rocm_perf.arch import catalog
from rocm_perf.arch.gpu import Method
from rocm_perf.backends.machine import FoundGpu, Machine, Version, version_of


def first_gpu(machine: Machine) -> FoundGpu | None:
    """The first of AMD's GPUs; counters are planned for it."""
    return next((gpu for gpu in machine.gpus if gpu.vendor == "AMD"), None)


def first_gfx(machine: Machine) -> str:
    """The chip of the first of AMD's GPUs, without the features that drivers add (gfx942:sramecc+)."""
    gpu = first_gpu(machine)
    return gpu.gfx.partition(":")[0] if gpu else ""


def release(machine: Machine, tool: str) -> Version:
    """The ROCm release that a tool belongs to, (7, 2); () where that is unknown."""
    known = machine.tools.get(tool)
    return version_of((known.rocm if known else "") or machine.rocm)[:2]


def written(version: Version) -> str:
    """A version as text: (7, 2) -> 7.2."""
    return ".".join(map(str, version))


def method_refusal(gfx: str, method: str, rocm: Version) -> str:
    """Why a way of looking does not work on this chip with this release; empty where it does or may."""
    return catalog.method_refusal(gfx, method, written(rocm))


def method_doubt(gfx: str, method: str) -> str:
    """What is uncertain about a way of looking that nobody has reported to work on this chip."""
    known = _method(gfx, method)
    return known.reason if known and known.works == "untested" else ""


def _method(gfx: str, name: str) -> Method | None:
    products = catalog.gpus_of(gfx)
    methods = products[0].methods if products else ()
    return next((method for method in methods if method.name == name), None)
