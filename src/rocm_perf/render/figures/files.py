"""The figures of a document as files that stand beside a report in Markdown."""

from __future__ import annotations

from dataclasses import dataclass

from rocm_perf.model.document import Document
from rocm_perf.render.figures.figure import WIDE, Figure, as_file
from rocm_perf.render.figures.index import FIGURES


@dataclass(frozen=True, kw_only=True)
class PictureFile:
    """An SVG file: what it is called, what it shows in a sentence, and what is written into it."""

    name: str
    title: str
    content: str


def picture_files(document: Document, stem: str) -> dict[str, PictureFile]:
    """A file for each topic that has something to draw: "report-roofline.svg" for the stem "report"."""
    drawn = {topic: draw(document, WIDE) for topic, draw in FIGURES.items()}
    return {
        topic: PictureFile(name=f"{stem}-{topic}.svg", title=figure.title, content=as_file(figure))
        for topic, figure in drawn.items()
        if isinstance(figure, Figure)
    }
