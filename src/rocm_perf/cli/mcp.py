"""`rocm-perf mcp`."""

from __future__ import annotations

import argparse
from pathlib import Path

from rocm_perf.cli.arguments import named_path, seconds
from rocm_perf.errors import InputError, ToolAbsentError

_TIMEOUT_S = 120.0


class McpCommand:
    """Answer questions of an assistant about the recordings below some folders, over stdin and stdout.

    Speaks the Model Context Protocol (docs/mcp.md has the configuration of clients). Every tool only reads, in pages
    of bounded size, and nothing outside of the folders. With --allow-run it may also record programs. Needs the extra:
    pip install 'rocm-perf[mcp]'.
    """

    def prepare_parser(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "roots", metavar="FOLDER", nargs="+", type=named_path, help="folders whose recordings may be read"
        )
        parser.add_argument(
            "--timeout",
            metavar="S",
            type=seconds,
            default=_TIMEOUT_S,
            help="seconds that an answer may take (120)",
        )
        parser.add_argument(
            "--allow-run",
            action="store_true",
            help="also offer `profile`, which runs any program as you, below the first folder",
        )

    def run(self, args: argparse.Namespace) -> int:
        _require_sdk()
        from rocm_perf.mcp_server.server import make_server

        roots = [_folder(root) for root in args.roots]
        make_server(roots, timeout_s=args.timeout, allow_run=args.allow_run).run("stdio")
        return 0


def _require_sdk() -> None:
    try:
        import mcp.server.mcpserver  # noqa: F401
    except ImportError as error:
        raise ToolAbsentError(
            "rocm-perf mcp needs the SDK of the Model Context Protocol, release 2 or later",
            str(error).splitlines()[0],
            "Install it: pip install 'rocm-perf[mcp]'.",
        ) from error


def _folder(path: Path) -> Path:
    if not path.is_dir():
        raise InputError(
            f"{path} is not a folder", "recordings are looked for in folders", "Name an existing folder."
        )
    return path.resolve()
