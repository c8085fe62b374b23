"""A page inside the output of a cell."""

from __future__ import annotations

from dataclasses import dataclass, field
from html import escape
from os import PathLike
from pathlib import Path

from rocm_perf.files import write_whole

_HEIGHT = 800  # pixels: most of a laptop's screen


@dataclass(frozen=True)
class PageReport:
    """A report as one HTML page: a notebook shows it below the cell, and `save` writes it to a file."""

    label: str
    html: str = field(repr=False)

    def save(self, path: str | PathLike[str] = "report.html", *, overwrite: bool = False) -> Path:
        """Write the page to a file that any browser opens, and return its path."""
        target = Path(path)
        write_whole(target, lambda draft: draft.write_text(self.html, encoding="utf-8"), overwrite=overwrite)
        return target

    def _repr_html_(self) -> str:
        """The page in a frame that may run the page's own script, and reaches nothing of the notebook."""
        return (
            f'<iframe title="{escape(self.label)}" srcdoc="{escape(self.html)}" sandbox="allow-scripts" '
            f'style="width: 100%; height: {_HEIGHT}px; border: 0"></iframe>'
        )
