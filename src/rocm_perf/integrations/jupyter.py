"""Rich displays in IPython and Jupyter. A notebook that uses rocm_perf gets them by itself; where that is not wanted
before, `%load_ext rocm_perf` asks for them.

Nothing is imported here: a display is made when a cell shows one, by the functions that are imported then.
"""

from __future__ import annotations

import sys
from typing import Any

_HTML, _MARKDOWN = "text/html", "text/markdown"
_COMPARED_KERNELS = 10


def register() -> None:
    """Register the displays with the running IPython, if there is one."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    if shell is not None:
        load_ipython_extension(shell)


def load_ipython_extension(shell: Any) -> None:
    """Register the displays; IPython calls it for `%load_ext`."""
    formatters = shell.display_formatter.formatters
    formatters[_HTML].for_type_by_name("rocm_perf.model.trace", "Trace", _trace)
    formatters[_HTML].for_type_by_name("rocm_perf.model.document", "Document", _document)
    formatters[_MARKDOWN].for_type_by_name("rocm_perf.model.results.comparison", "Comparison", _comparison)


def _trace(trace: Any) -> str:
    from rocm_perf.render.notebook.displays import trace_html

    return trace_html(trace)


def _document(document: Any) -> str:
    from rocm_perf.render.notebook.displays import document_html

    return document_html(document)


def _comparison(comparison: Any) -> str:
    from rocm_perf.render.report.comparison import comparison_markdown

    return comparison_markdown(comparison, _COMPARED_KERNELS)
