"""The templates of pages, filled in. Texts are escaped, and printed without what would steer a reader's eye."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from rocm_perf.render.page.assets import assets
from rocm_perf.text import ascii_json, clean, compact_json

_SPARK = re.compile("([▁-█]{3,})")


@dataclass(frozen=True)
class Link:
    """A link in the bar at the top, to another page of a server."""

    title: str
    address: str


def filled(template: str, **values: object) -> str:
    """The page that a template makes of the values, with the script and the style that it is allowed to run."""
    built = assets()
    return (
        _environment()
        .get_template(template)
        .render(policy=built.policy, script=Markup(built.script), style=Markup(built.style), **values)
    )


def inert(value: object) -> Markup:
    """The value as JSON that can stand in a page: nothing in it ends its element or begins another."""
    json = ascii_json(compact_json(value).decode())
    return Markup(json.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"))


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("rocm_perf.render.page"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_printable,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(sparks=_sparks, sentence=_sentence)
    return environment


def _printable(value: object) -> object:
    """What is filled in, without control characters and marks of direction."""
    return clean(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _sentence(text: str) -> str:
    """The text with a capital at its beginning and a full stop at its end."""
    return f"{text[:1].upper()}{text[1:].rstrip('.')}."


def _sparks(line: str) -> Iterator[tuple[str, bool]]:
    """The parts of a line, and whether each is a series drawn in blocks."""
    for place, text in enumerate(_SPARK.split(line)):
        if text:
            yield text, place % 2 == 1
