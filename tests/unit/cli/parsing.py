"""The options of one verb, parsed as the entry point does."""

from __future__ import annotations

import argparse

from rocm_perf.cli.command import Command


def parsed(command: Command, *words: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    verb = parser.add_subparsers(required=True).add_parser("verb")
    command.prepare_parser(verb)
    return parser.parse_args(["verb", *words])
