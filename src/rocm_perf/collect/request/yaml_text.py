"""YAML that a user wrote, read with PyYAML: within bounds, without aliases, and refused with its line."""

from __future__ import annotations

import re
from typing import Any

import yaml
from yaml.nodes import Node

from rocm_perf.errors import InputError

LONGEST = 1 << 18  # characters; such a file names some counters
_TAG = "tag:yaml.org,2002:"
_NUMBER = re.compile(r"[-+]?(0|[1-9][0-9]*)$")


class _Loader(yaml.SafeLoader):
    """Plain values, lists and mappings. An alias can make a few lines stand for billions of values, and is refused."""

    def compose_node(self, parent: Node | None, index: int) -> Node | None:
        if self.check_event(yaml.AliasEvent):
            mark = self.peek_event().start_mark  # type: ignore[no-untyped-call]
            raise yaml.composer.ComposerError(None, None, "aliases are not read here", mark)
        return super().compose_node(parent, index)


# YAML 1.1 takes 5:1:1, a collection period, for a number to the base of 60, and 2024-01-01 for a day: both stay text.
_MISREAD = (f"{_TAG}int", f"{_TAG}float", f"{_TAG}timestamp")
_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag not in _MISREAD]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
_Loader.add_implicit_resolver(f"{_TAG}int", _NUMBER, list("-+0123456789"))


def read_yaml(text: str, name: str) -> Any:
    """The document in a text; `name` is what an error calls it."""
    if len(text) > LONGEST:
        raise InputError(
            f"{name} is too long for YAML",
            f"it has {len(text):,} characters, and at most {LONGEST:,} are read",
            "Name the counters in a text file, one `pmc:` line per pass.",
        )
    try:
        return yaml.load(text, Loader=_Loader)  # a SafeLoader
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f"{name}, line {mark.line + 1}," if mark else name
        raise InputError(f"{where} is not valid YAML", error.problem or str(error)) from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise InputError(f"{name} is not valid YAML", str(error).split("\n", maxsplit=1)[0]) from error
