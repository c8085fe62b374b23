"""From the text of a file to a Source. Only what is wrong in or around kernels matters: macros elsewhere often
confuse the grammar, so a kernel that is not understood is left alone with a reason, and a text is refused only
where no kernel at all can be read."""

from __future__ import annotations

import difflib
from dataclasses import dataclass, field
from pathlib import Path

from tree_sitter import Tree

from rocm_perf.analysis.basis.names import short_name
from rocm_perf.errors import InputError, UsageError
from rocm_perf.optimize.source.attribute_macros import attribute_macros, blanked
from rocm_perf.optimize.source.kernels import kernels_of
from rocm_perf.optimize.source.model import Kernel, Unreadable
from rocm_perf.optimize.source.tree import first_error, line_of, tree_of


@dataclass(frozen=True)
class Source:
    """A source file, and the kernels that are defined in it."""

    name: str
    text: bytes
    kernels: tuple[Kernel, ...]
    unreadable: tuple[Unreadable, ...]
    tree: Tree = field(repr=False, compare=False)

    def kernel(self, name: str) -> Kernel:
        """The kernel of that name: with or without its namespaces, or as profilers write it."""
        named = [each for each in self.kernels if name in (each.qualified, each.name)]
        bare = short_name(name).split("<", 1)[0]
        named = named or [each for each in self.kernels if each.base == bare]
        if len(named) == 1:
            return named[0]
        raise UsageError(*(self._several(name, named) if named else self._absent(name)))

    def _several(self, name: str, named: list[Kernel]) -> tuple[str, str, str]:
        places = ", ".join(f"{each.qualified} in line {each.line}" for each in named)
        return (
            f"{self.name} defines {name} more than once",
            places,
            "Name one of them in full, or keep one of them.",
        )

    def _absent(self, name: str) -> tuple[str, str, str]:
        for each in self.unreadable:
            if each.name == name:
                return f"kernel {name} in line {each.line} of {self.name} is left alone", each.reason, ""
        near = nearest(name, self.kernels)
        choice = (
            f"The nearest names: {', '.join(near)}." if near else "It defines no kernel that can be read."
        )
        return f"{self.name} does not define a kernel {name}", "", choice


def parse(source: Path | bytes, name: str = "the source") -> Source:
    """The kernels of a file, or of a text."""
    text, name = (source, name) if isinstance(source, bytes) else (_read(source), source.name)
    tree = tree_of(text)
    macros = attribute_macros(tree)
    if macros:
        tree = tree_of(blanked(text, macros))
    kernels, unreadable = kernels_of(tree.root_node, macros, text)
    error = first_error(tree.root_node)
    if error is not None and not kernels:
        why = f"its text is not understood from line {line_of(error)} on"
        if unreadable:
            why = f"{unreadable[0].name} is left alone because {unreadable[0].reason}"
        raise InputError(f"{name} defines no kernel that can be read", why, "Does it compile as it is?")
    return Source(name=name, text=text, kernels=tuple(kernels), unreadable=tuple(unreadable), tree=tree)


def nearest(name: str, kernels: tuple[Kernel, ...]) -> list[str]:
    """Up to four names of kernels, the most alike first; some, even where none is much alike."""
    last = name.rsplit("::", 1)[-1]
    names = {each.base: each.qualified for each in kernels}
    alike = difflib.get_close_matches(last[:80], names, n=4, cutoff=0.4)
    return [names[each] for each in (alike or sorted(names)[:4])]


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"cannot read {path}", str(error.strerror or error)) from error
