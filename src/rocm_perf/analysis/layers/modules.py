"""The layers of a model among its recorded modules: the outermost modules of one class of which most are equal."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from rocm_perf.analysis.basis.module_spans import class_name
from rocm_perf.analysis.layers.repetition import FEWEST_LAYERS
from rocm_perf.model.results.modules import ModuleLine, Modules

LEAST_SHARE = 0.1  # of a step: what takes less is not what a model is made of
INSIDE = 0.5  # of a step: layers that hold less of it are not the model's


@dataclass(frozen=True)
class ModuleLayers:
    """Modules of one class inside of one module: the lines of equal ones, the one with most modules first. A first
    or last layer that is not equal to the others is a line of its own: a norm before it may have nothing to add."""

    lines: tuple[ModuleLine, ...]

    @property
    def alike(self) -> ModuleLine:
        """The line with most modules."""
        return self.lines[0]

    @property
    def name(self) -> str:
        return class_name(self.alike.name)

    @property
    def layers(self) -> int:
        return sum(line.modules for line in self.lines)

    @property
    def share(self) -> float:
        return sum(line.share for line in self.lines)


def module_layers(modules: Modules) -> list[ModuleLayers]:
    """The modules that are layers; none where they take less than half of the time."""
    classes: dict[object, list[ModuleLine]] = defaultdict(list)
    for line in modules.lines:
        if line.kind == "module":
            classes[line.parent, class_name(line.name)].append(line)
    groups = [_layers(lines) for lines in classes.values()]
    layers = [
        group
        for group in groups
        if group.alike.modules >= FEWEST_LAYERS
        and group.share >= LEAST_SHARE
        and not _is_inside_equal(group.alike, modules)
    ]
    return layers if sum(group.share for group in layers) >= INSIDE else []


def _layers(lines: Iterable[ModuleLine]) -> ModuleLayers:
    return ModuleLayers(tuple(sorted(lines, key=lambda line: -line.modules)))


def _is_inside_equal(line: ModuleLine, modules: Modules) -> bool:
    while line.parent is not None:
        line = modules.lines[line.parent]
        if line.modules >= FEWEST_LAYERS:
            return True
    return False
