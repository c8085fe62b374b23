"""What the page brings along: the script and the style that `make web` builds, and the policy that allows only them."""

from __future__ import annotations

from base64 import b64encode
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib import resources

_POLICY = (
    "default-src 'none'; script-src {script}; style-src {style}; "
    "img-src data:; base-uri 'none'; form-action 'none'"
)


@dataclass(frozen=True)
class Assets:
    """The script and the style as text."""

    script: str
    style: str

    @property
    def policy(self) -> str:
        """The Content-Security-Policy of a page that holds them: nothing else runs, and nothing is fetched."""
        return _POLICY.format(script=_source(self.script), style=_source(self.style))


@cache
def assets() -> Assets:
    """The built script and style."""
    folder = resources.files("rocm_perf.render.page").joinpath("assets")
    script, style = (folder.joinpath(name).read_text("utf-8") for name in ("report.js", "report.css"))
    return Assets(script.strip(), style.strip())


def _source(text: str) -> str:
    """The text as a source expression of a policy: Content Security Policy Level 3, section 2.3.1."""
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"
