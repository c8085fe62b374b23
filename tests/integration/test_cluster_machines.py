"""`analyze --cluster tcp://...` on workers that others started: in a network of their own, without the recordings, with
another rocm-perf or Python, or with none; and a scheduler that ends."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from bench.make_ranks import write_job

import rocm_perf
from rocm_perf.errors import NotSupportedError, RocmPerfError
from rocm_perf.fleet.cluster import spread
from rocm_perf.fleet.cluster.analyse import analyse_on_cluster
from rocm_perf.fleet.cluster.request import SCHEDULER_OPTIONS, ClusterRequest
from rocm_perf.model.document import Document
from rocm_perf.version import __version__

distributed = pytest.importorskip("distributed")
pytestmark = pytest.mark.launches

RANKS = 4
WAIT_S = 120
OURS = str(Path(rocm_perf.__file__).parents[1])
LIBRARIES = Path(distributed.__file__).parents[1]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("shared") / "job"
    folder.mkdir()
    write_job(folder, RANKS, steps=5, pairs=5)
    return folder


@pytest.fixture(scope="module")
def libraries(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Where Dask is found, and rocm-perf is not (with -S, which leaves editable installations out)."""
    folder = tmp_path_factory.mktemp("libraries")
    for entry in LIBRARIES.iterdir():
        if "rocm_perf" not in entry.name:
            (folder / entry.name).symlink_to(entry)
    return str(folder)


@dataclass
class Site:
    """A scheduler in this process, to which the test brings workers; `inside` is what a command of theirs starts
    with."""

    address: str
    home: Path
    inside: tuple[str, ...] = ()
    workers: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def start(self, *options: str, path: str = OURS, flags: tuple[str, ...] = ()) -> None:
        """Start a worker that shares neither home, nor temporary nor working folder with this process."""
        home = self.home / f"worker{len(self.workers)}"
        home.mkdir()
        command = (*self.inside, sys.executable, *flags, "-m", "distributed.cli.dask_worker", self.address)
        self.workers.append(
            subprocess.Popen(
                (*command, "--no-nanny", "--nthreads", "1", "--no-dashboard", *options),
                cwd=home,
                env={"PATH": os.environ["PATH"], "HOME": str(home), "TMPDIR": str(home), "PYTHONPATH": path},
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
        )

    def analyse(self, folder: Path, *, wait_s: float = WAIT_S, **options: Any) -> Any:
        """The document, and why it is cut short."""
        return analyse_on_cluster(folder, ClusterRequest(self.address, wait_s=wait_s), **options)

    def close(self) -> None:
        for worker in self.workers:
            worker.kill()
            worker.wait()


@contextmanager
def _site(home: Path, host: str, inside: tuple[str, ...] = ()) -> Iterator[Site]:
    with distributed.LocalCluster(
        n_workers=0, host=host, dashboard_address=None, scheduler_kwargs=SCHEDULER_OPTIONS
    ) as cluster:
        site = Site(cluster.scheduler_address, home, inside)
        try:
            yield site
        finally:
            site.close()


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    with _site(tmp_path, "127.0.0.1") as site:
        yield site


def _did(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True)


@pytest.fixture
def other_machine(tmp_path: Path) -> Iterator[Site]:
    """A scheduler whose workers run on what is almost another machine: in a network namespace that is joined to ours by
    a pair of virtual interfaces, and under another host name."""
    number = int.from_bytes(os.urandom(2), "little")
    name, link, ours = f"rocm-perf-{number}", f"rp{number}", f"10.231.{number >> 8}.1"
    with ExitStack() as cleaning:
        try:
            _did("ip", "netns", "add", name)
            cleaning.callback(_did, "ip", "netns", "del", name)
            _did("ip", "link", "add", link, "type", "veth", "peer", "name", "eth0", "netns", name)
            _did("ip", "addr", "add", f"{ours}/24", "dev", link)
            _did("ip", "link", "set", link, "up")
            for command in (
                f"addr add {ours[:-1]}2/24 dev eth0",
                "link set eth0 up",
                f"route add default via {ours}",
            ):
                _did("ip", "-n", name, *command.split())
            _did("unshare", "--mount", "--uts", "true")
        except (OSError, subprocess.CalledProcessError) as error:
            pytest.skip(f"network namespaces are not allowed here: {error}")
        inside = ("ip", "netns", "exec", name, "unshare", "--mount", "--uts", "sh", "-c")
        yield cleaning.enter_context(_site(tmp_path, ours, (*inside, 'hostname node2; exec "$@"', "sh")))


def _totals(document: Document) -> list[tuple[Any, ...]]:
    return [(row.kernel, row.calls, row.total_ns) for row in document.hotspots.rows]


def _refused(site: Site, folder: Path) -> str:
    with pytest.raises(NotSupportedError) as refused:
        site.analyse(folder)
    return str(refused.value)


def test_workers_on_another_machine_say_what_workers_here_say(folder: Path, other_machine: Site) -> None:
    other_machine.start()
    other_machine.start()
    document, cut_short = other_machine.analyse(folder)
    here, _ = analyse_on_cluster(folder, ClusterRequest("local", 1))
    assert cut_short is None
    assert len(document.devices) == RANKS
    assert (_totals(document), document.devices, document.wall_ns) == (
        _totals(here),
        here.devices,
        here.wall_ns,
    )


def test_a_machine_that_does_not_share_the_folder_is_named(folder: Path, other_machine: Site) -> None:
    hide = f'mount -t tmpfs none {folder.parent}; hostname node2; exec "$@"'
    other_machine.inside = (*other_machine.inside[:-2], hide, "sh")
    other_machine.start()
    line = _refused(other_machine, folder)
    assert line.startswith("the worker tcp://10.231.")
    assert line.endswith(
        f" on node2 does not see {folder}: there is nothing of that name on that machine. "
        "Put the recordings into a folder that all machines share under the same path."
    )


def test_a_machine_with_a_folder_of_its_own_of_that_name_is_named(folder: Path, other_machine: Site) -> None:
    hide = f'mount -t tmpfs none {folder}; hostname node2; exec "$@"'
    other_machine.inside = (*other_machine.inside[:-2], hide, "sh")
    other_machine.start()
    with pytest.raises(RocmPerfError, match=f"the worker on node2 does not see {folder}/rank0") as refused:
        other_machine.analyse(folder)
    assert str(refused.value).endswith("a folder that all machines share under the same path.")


def test_a_worker_without_rocm_perf_is_refused(folder: Path, site: Site, libraries: str) -> None:
    site.start(path=libraries, flags=("-S",))
    line = _refused(site, folder)
    assert "lacks rocm-perf: No module named 'rocm_perf'. Install this version there" in line
    assert line.endswith(f"pip install 'rocm-perf[cluster]=={__version__}'")


def _older(folder: Path) -> str:
    """Where an older rocm-perf is imported from: all of this one, but for its version."""
    package = folder / "older" / "rocm_perf"
    package.mkdir(parents=True)
    (package / "version.py").write_text('__version__ = "0.0.9"\n')
    (package / "__init__.py").write_text(
        f"__path__.append({OURS + '/rocm_perf'!r})\nfrom rocm_perf.version import __version__\n"
    )
    return str(package.parent)


def test_a_worker_with_another_rocm_perf_is_refused(folder: Path, site: Site, tmp_path: Path) -> None:
    site.start(path=_older(tmp_path))
    assert f"has rocm-perf 0.0.9: this is {__version__}. Install this version there" in _refused(site, folder)


def test_a_worker_with_another_python_is_refused(folder: Path, site: Site, tmp_path: Path) -> None:
    (tmp_path / "other_python.py").write_text(
        "import collections, sys\n"
        "Version = collections.namedtuple('Version', 'major minor micro releaselevel serial')\n"
        "sys.version_info = Version(3, 9, *sys.version_info[2:])\n"
    )
    site.start("--preload", str(tmp_path / "other_python.py"))
    ours = "{}.{}".format(*sys.version_info[:2])
    line = _refused(site, folder)
    assert f" runs Python 3.9: this is Python {ours}. Start it with Python {ours}." in line


def test_the_work_of_a_refused_worker_is_done_by_the_others(
    folder: Path, site: Site, libraries: str, tmp_path: Path
) -> None:
    site.start(path=_older(tmp_path))
    site.start(path=libraries, flags=("-S",))
    site.start()
    with distributed.Client(site.address) as client:
        client.wait_for_workers(3, timeout=WAIT_S)
    said: list[str] = []
    document, cut_short = site.analyse(folder, say=said.append)
    assert (len(document.devices), document.run.losses, cut_short) == (RANKS, (), None)
    assert sorted("lacks" in line for line in said) == [False, True]
    assert all(line.endswith("(Other workers do its work meanwhile.)") for line in said)


def _scheduler(folder: Path, *flags: str, path: str) -> tuple[subprocess.Popen[str], str]:
    """A scheduler in a process of its own, and its address."""
    file = folder / "scheduler.json"
    options = ("--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file", str(file))
    process = subprocess.Popen(
        (sys.executable, *flags, "-m", "distributed.cli.dask_scheduler", *options),
        env={**os.environ, "PYTHONPATH": path},
        stderr=subprocess.DEVNULL,
        text=True,
    )
    deadline = time.monotonic() + WAIT_S
    while not (file.exists() and file.read_text().endswith("}")) and time.monotonic() < deadline:
        time.sleep(0.05)
    return process, str(json.loads(file.read_text())["address"])


def test_a_scheduler_without_rocm_perf_is_refused(folder: Path, libraries: str, tmp_path: Path) -> None:
    process, address = _scheduler(tmp_path, "-S", path=libraries)
    try:
        line = _refused(Site(address, tmp_path), folder)
    finally:
        process.kill()
        process.wait()
    assert line.startswith(f"the Dask scheduler at {address} lacks rocm-perf: No module named 'rocm_perf")


def test_a_scheduler_that_ends_leaves_a_report_of_what_was_done(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spread, "_LOOK_S", 0.05)
    process, address = _scheduler(tmp_path, path=OURS)
    site = Site(address, tmp_path)
    site.start()
    calls: list[int] = []

    def end_it(done: int, _ranks: int) -> None:
        calls.append(done)
        if len(calls) == 2:  # the first rank is analysed, and now it is here
            process.kill()
            site.workers[0].kill()

    try:
        document, cut_short = site.analyse(folder, progress=end_it)
    finally:
        process.kill()
        process.wait()
        site.close()
    assert 0 < len(document.devices) < RANKS
    assert str(cut_short).startswith(
        "the Dask scheduler has ended, or is not reached any more: "
        f"{len(document.devices)} of 4 ranks were analysed, and the report is about these (rank0"
    )


def test_an_interruption_while_no_worker_comes_ends_it_at_once(folder: Path, site: Site) -> None:
    process = subprocess.Popen(
        (sys.executable, "-m", "rocm_perf", "analyze", str(folder), "--cluster", site.address),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    first = process.stderr.readline()
    begun = time.monotonic()
    process.send_signal(signal.SIGINT)
    with process.stderr:
        lines = process.stderr.read().splitlines()
    assert process.wait(WAIT_S) == 128 + signal.SIGINT
    assert time.monotonic() - begun < 120  # not the 300 s that it would wait
    assert "has no worker. Start one where the recordings are seen" in first
    assert "given up after 300 s, see --wait" in first
    assert lines == [
        "rocm-perf: 0 of 4 ranks were analysed; no report is made. Run it again for one.",
        "rocm-perf: interrupted",
    ]
