"""The launchers of `rocm-perf launch`, and how their command lines are read. Light: a launcher is loaded when it is
named."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rocm_perf.cli.arguments import named_path, new_folder, positive

if TYPE_CHECKING:
    from rocm_perf.fleet.launcher import Launcher


def _slurm() -> Launcher:
    from rocm_perf.fleet.slurm.launcher import SlurmLauncher

    return SlurmLauncher()


def _kubernetes() -> Launcher:
    from rocm_perf.fleet.kubernetes.launcher import KubernetesLauncher

    return KubernetesLauncher()


def _mpi() -> Launcher:
    from rocm_perf.fleet.mpi import MpiLauncher

    return MpiLauncher()


def _torchrun() -> Launcher:
    from rocm_perf.fleet.torchrun import TorchrunLauncher

    return TorchrunLauncher()


# Every launcher, in the order of the help text.
LAUNCHERS: dict[str, tuple[str, Callable[[], Launcher]]] = {
    "slurm": ("as a job of SLURM: submitted, followed, collected", _slurm),
    "kubernetes": (
        "as an indexed Job of Kubernetes: its objects are written, and applied on request",
        _kubernetes,
    ),
    "mpi": ("with mpirun, on this machine", _mpi),
    "torchrun": ("with torchrun, on this machine", _torchrun),
}


class LauncherParser(argparse.ArgumentParser):
    """Reads a launcher's own options, and keeps the rest: options of `profile` in `profile`, what stands behind `--`
    in `app`."""

    def __init__(self, *, load: Callable[[], Launcher], **settings: Any) -> None:
        super().__init__(**{**settings, "allow_abbrev": False})
        self._load = load

    def parse_known_args(self, args: Sequence[str] | None = None, namespace: Any = None) -> Any:  # type: ignore[override]
        self._complete()
        words = list(args or ())
        end = words.index("--") if "--" in words else len(words)
        parsed, others = super().parse_known_args(words[:end], namespace)
        parsed.profile, parsed.app = tuple(others), tuple(words[end + 1 :])
        return parsed, []

    def _complete(self) -> None:
        """Load the launcher, and add its options."""
        launcher = self._load()
        self.description = launcher.__doc__
        self.usage = f"rocm-perf launch {launcher.name} [options] [options of profile] -- APP [args]"
        _add_options(self)
        launcher.prepare_parser(self)
        self.set_defaults(launcher=launcher)


def _configuration(text: str) -> Path | str:
    """A file; what begins as JSON does is the configuration itself."""
    return text if text.lstrip().startswith("{") else named_path(text)


def _add_options(parser: argparse.ArgumentParser) -> None:
    """Add what all launchers have."""
    parser.add_argument(
        "--config", metavar="FILE", type=_configuration, help="a configuration of the job: a file, or JSON"
    )
    parser.add_argument("--dry-run", action="store_true", help="print what would be started; start nothing")
    parser.add_argument("--nodes", "--nnodes", metavar="N", type=positive, help="machines (1)")
    parser.add_argument(
        "--ranks-per-node", "--nproc-per-node", metavar="N", type=positive, help="processes on each (1)"
    )
    parser.add_argument(
        "-d", "--output-directory", metavar="DIR", type=new_folder, help="runs go below it (rocm-perf-runs)"
    )
    parser.add_argument("-o", "--output", metavar="DIR", type=new_folder, help="the run's own folder")
    parser.add_argument("--run-id", metavar="ID", default="", help="name of the run's folder (by the time)")
    parser.add_argument("--no-analyze", action="store_true", help="record only; analyze reads it later")
    parser.add_argument(
        "--json", action="store_true", help="the job and what each rank left, as JSON on stdout"
    )
    parser.add_argument(
        "--collect",
        metavar="FOLDER",
        type=named_path,
        help="wait for a run that was launched before, and collect it",
    )
