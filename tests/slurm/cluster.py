"""A SLURM of two nodes on one machine, in a folder and on ports of its own, without systemd."""

from __future__ import annotations

import os
import shutil
import socket
import stat
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "srun", "scontrol", "scancel", "mpirun")
NODES = ("n1", "n2")
_READY_S = 180.0
_END_S = 30.0

_CONF = """\
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ports[0]}
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd-%n.log
TmpFS={folder}
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerParameters=batch_sched_delay=0,sched_min_interval=100000,sched_interval=2
ReturnToService=2
MpiDefault=none
KillWait=10
SlurmdParameters=config_overrides
GresTypes=gpu
NodeName=n1 NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[1]} CPUs=8 RealMemory=1000 Gres=gpu:4
NodeName=n2 NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[2]} CPUs=8 RealMemory=1000 Gres=gpu:4
PartitionName=gpu Nodes=ALL Default=YES MaxTime=INFINITE State=UP OverSubscribe=YES
"""


@dataclass(frozen=True)
class Cluster:
    """A SLURM that runs."""

    folder: Path

    @property
    def environment(self) -> dict[str, str]:
        """The variable by which its commands find it."""
        return {"SLURM_CONF": str(self.folder / "slurm.conf")}

    def run(self, *argv: str, timeout_s: float = 120.0) -> str:
        """What one of its commands prints; never waits forever."""
        return subprocess.run(
            argv,
            env={**os.environ, **self.environment},
            capture_output=True,
            text=True,
            timeout=timeout_s,
            check=True,
        ).stdout

    def shorten(self, job: str) -> None:
        """Let the time of a job run out soon: SLURM looks every 30 s, and warns a minute before that."""
        *minutes, seconds = map(
            int, self.run("squeue", "--noheader", "--format=%M", f"--jobs={job}").split(":")
        )
        elapsed_s = 60 * sum(minutes) + seconds
        self.run("scontrol", "update", f"JobId={job}", f"TimeLimit={(elapsed_s + 35) // 60 + 1}")

    def jobs(self) -> list[str]:
        """The numbers of the jobs that have not ended."""
        return self.run("squeue", "--noheader", "--format=%i").split()

    def is_empty_within(self, seconds: float) -> bool:
        """Whether the last job ends in that time: one that was cancelled takes a moment."""
        deadline = time.monotonic() + seconds
        while self.jobs():
            if time.monotonic() > deadline:
                return False
            time.sleep(0.5)
        return True


def missing() -> str:
    """What a cluster lacks on this machine; empty if it can be started."""
    absent = [name for name in PROGRAMS if shutil.which(name, path=_search_path()) is None]
    if absent:
        return f"{', '.join(absent)}: make test-slurm installs slurm-wlm, munge and openmpi-bin as root"
    return "" if os.geteuid() == 0 else "a SLURM of two nodes on one machine has to be started by root"


@contextmanager
def cluster(folder: Path) -> Iterator[Cluster]:
    """Start one, and end all of its processes whatever happens."""
    made = Cluster(folder)
    _write_files(folder)
    daemons = [
        ("munged", "--foreground", "--force", *(f"--{name}={folder}/munge.{end}" for name, end in _MUNGE)),
        ("slurmctld", "-D", "-i", "-f", str(folder / "slurm.conf")),
        *(("slurmd", "-D", "-N", node, "-f", str(folder / "slurm.conf")) for node in NODES),
    ]
    with ExitStack() as stack:
        for argv in daemons:
            stack.enter_context(_daemon(argv, made))
            if argv[0] == "munged":
                _wait_for((folder / "munge.socket").exists, "munged")
        _wait_for(lambda: _idle(made) == len(NODES), f"slurmctld and slurmd ({folder}/*.log)")
        stack.callback(_cancel_all, made)
        yield made


_MUNGE = (
    ("socket", "socket"),
    ("key-file", "key"),
    ("log-file", "log"),
    ("pid-file", "pid"),
    ("seed-file", "seed"),
)


def _write_files(folder: Path) -> None:
    (folder / "state").mkdir()
    folder.chmod(0o755)  # munge refuses a socket that others could not reach
    key = folder / "munge.key"
    key.write_bytes(os.urandom(128))
    key.chmod(0o400)
    text = _CONF.format(host=socket.gethostname().partition(".")[0], folder=folder, ports=_free_ports(3))
    (folder / "slurm.conf").write_text(text)
    (folder / "gres.conf").write_text(f"NodeName=n[1-2] Name=gpu File={folder}/gpu[0-3]\n")
    for number in range(4):  # as good as /dev/null, but SLURM hands it out
        os.mknod(folder / f"gpu{number}", stat.S_IFCHR | 0o666, os.makedev(1, 3))


def _free_ports(count: int) -> list[int]:
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]


@contextmanager
def _daemon(argv: Sequence[str], made: Cluster) -> Iterator[None]:
    with (made.folder / f"{argv[0]}.out").open("ab") as output:
        process = subprocess.Popen(
            argv,
            env={**os.environ, **made.environment, "PATH": _search_path()},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    try:
        yield
    finally:
        process.terminate()
        try:
            process.wait(_END_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _cancel_all(made: Cluster) -> None:
    with suppress(subprocess.SubprocessError):
        for job in made.jobs():
            made.run("scancel", "--full", "--signal=KILL", job)
            made.run("scancel", job)
        end = time.monotonic() + _END_S
        while made.jobs() and time.monotonic() < end:
            time.sleep(0.2)


def _idle(made: Cluster) -> int:
    with suppress(subprocess.SubprocessError):
        return made.run("sinfo", "--noheader", "--Node", "--format=%T", timeout_s=30).split().count("idle")
    return 0


def _wait_for(happened: Callable[[], bool], who: str) -> None:
    end = time.monotonic() + _READY_S
    while not happened():
        if time.monotonic() > end:
            raise TimeoutError(f"{who} did not start within {_READY_S:.0f} s")
        time.sleep(0.1)


def _search_path() -> str:
    """Debian's daemons are in sbin."""
    return os.pathsep.join((os.environ.get("PATH", os.defpath), "/usr/sbin", "/sbin"))
