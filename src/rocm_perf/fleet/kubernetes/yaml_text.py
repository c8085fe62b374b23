"""Kubernetes objects as YAML. Written with PyYAML, and so that every reader sees the same values: what is not plainly a
word is quoted, because YAML 1.1 and 1.2, PyYAML and kubectl disagree on what `08`, `1e3` or `on` mean."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import yaml
from yaml.nodes import ScalarNode

_WORD = re.compile(r"[A-Za-z][A-Za-z0-9_./-]*")
_OTHER_MEANINGS = frozenset({"y", "n", "yes", "no", "on", "off", "true", "false", "null"})
_TEXT = "tag:yaml.org,2002:str"


class _Dumper(yaml.SafeDumper):
    """Writes texts in one of three ways: a plain word, a block of lines, or in double quotes."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002  equal values are written out
        return True


def _represent(dumper: yaml.SafeDumper, text: str) -> ScalarNode:
    if _WORD.fullmatch(text) and text.lower() not in _OTHER_MEANINGS:
        return dumper.represent_scalar(_TEXT, text)
    is_block = "\n" in text and text.isascii() and all(line == line.rstrip() for line in text.split("\n"))
    return dumper.represent_scalar(_TEXT, text, style="|" if is_block else '"')


_Dumper.add_representer(str, _represent)


def yaml_documents(objects: Sequence[Mapping[str, Any]]) -> str:
    """The objects as one YAML text, which `kubectl apply -f` takes."""
    return yaml.dump_all(
        objects, Dumper=_Dumper, sort_keys=False, explicit_start=True, allow_unicode=False, width=10_000
    )
