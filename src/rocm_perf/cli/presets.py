"""`rocm-perf presets`."""

from __future__ import annotations

import argparse

from rocm_perf.cli.output import show, show_json

SCHEMA_VERSION = 1


class PresetsCommand:
    """The presets of `rocm-perf profile --preset`, and what each records.

    The names of configuration files, such as rocprofv3_compute, work as well.
    """

    def prepare_parser(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--json", action="store_true", help="print as JSON")

    def run(self, args: argparse.Namespace) -> int:
        import msgspec

        from rocm_perf.collect.request.presets import presets

        known = {name: msgspec.to_builtins(preset) for name, preset in presets().items()}
        if args.json:
            from rocm_perf.render import json

            show_json(json.encode({"schema_version": SCHEMA_VERSION, "presets": known}))
        else:
            from rocm_perf.render.screen.plan import preset_lines

            show(*preset_lines(known))
        return 0
