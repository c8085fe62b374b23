"""A container that can be profiled: the GPUs, the rights that profilers need, and the same folders as outside. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from rocm_perf.collect.request.launching import Runtime

# docs/containers.md says what each is for.
_RIGHTS = ("--cap-add=SYS_PTRACE", "--cap-add=SYS_ADMIN", "--security-opt=seccomp=unconfined")
_AMD = ("--device=/dev/kfd", "--device=/dev/dri")
_NVIDIA = ("--gpus=all",)
_AS_ON_THE_NODE = ("--network=host", "--ipc=host")
_SHARED_MEMORY = "--shm-size=16g"  # torch's data loaders and RCCL talk through it


class Container(msgspec.Struct, frozen=True, kw_only=True):
    """A container in which rocm-perf records."""

    image: str
    writable: tuple[Path, ...]  # folders at their own places; it starts in the first
    readable: tuple[Path, ...] = ()
    variables: tuple[str, ...] = ()  # passed by name, so that no secret is part of the command
    nvidia: bool = False

    def command(self, arguments: Sequence[str]) -> tuple[str, ...]:
        """The docker command that runs rocm-perf in it."""
        return (*self._docker(), "--entrypoint", "rocm-perf", self.image, *arguments)

    def around(self, runtime: Runtime) -> tuple[str, ...]:
        """Return the words that stand before a command on a node of a cluster, to run it in the container: it shares
        the network with the node, so that ranks on other nodes reach it."""
        if runtime == "docker":
            return (*self._docker(), *_AS_ON_THE_NODE, "--entrypoint", "env", self.image)
        binds = (("--bind", f"{folder}:{folder}:{mode}") for folder, mode in self._folders())
        return (
            *("apptainer", "exec", *(["--nv"] if self.nvidia else [])),
            *(word for bind in binds for word in bind),
            *("--pwd", str(self.writable[0]), f"docker://{self.image}"),
        )

    def _docker(self) -> tuple[str, ...]:
        return (
            *("docker", "run", "--rm", "--init"),
            *(_NVIDIA if self.nvidia else _AMD),
            *_RIGHTS,
            _SHARED_MEMORY,
            *(word for folder, mode in self._folders() for word in _mount(folder, mode)),
            *("--workdir", str(self.writable[0])),
            *(word for name in self.variables for word in ("--env", name)),
        )

    def _folders(self) -> Iterator[tuple[Path, str]]:
        """The folders that are mounted and how, each once; one inside another comes with it."""
        writable = [each for each in dict.fromkeys(self.writable) if not _is_inside(each, self.writable)]
        yield from ((folder, "rw") for folder in writable)
        for folder in dict.fromkeys(self.readable):
            if folder not in writable and not _is_inside(folder, writable):
                yield folder, "ro"


def _is_inside(folder: Path, others: Sequence[Path]) -> bool:
    """Whether a folder lies in another one, which is mounted as a whole."""
    return any(folder != other and folder.is_relative_to(other) for other in others)


def _mount(folder: Path, mode: str) -> tuple[str, str]:
    """A folder at its own place, as --mount takes it: one record of CSV."""
    fields = ["type=bind", f"source={folder}", f"target={folder}", *(["readonly"] if mode == "ro" else [])]
    return "--mount", ",".join(map(_quoted, fields))


def _quoted(field: str) -> str:
    return '"' + field.replace('"', '""') + '"' if set(field) & set(',"\n') else field
