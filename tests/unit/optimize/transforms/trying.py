"""A transform tried on a text."""

from __future__ import annotations

from pathlib import Path

from rocm_perf.optimize.candidate import Candidate, Cause
from rocm_perf.optimize.source.launches import launches_of
from rocm_perf.optimize.source.model import Kernel
from rocm_perf.optimize.source.parse import Source, parse
from rocm_perf.optimize.transforms.setting import CapturedLaunch, Pointer, Setting
from rocm_perf.optimize.transforms.transform import Transform

TESTBED = Path(__file__).parents[4] / "testbed"
PROGRAMS = sorted(path for path in TESTBED.iterdir() if path.suffix in (".cpp", ".cu", ".hip"))


def setting(
    *launches: CapturedLaunch, cause: Cause = "memory", arch: str = "gfx942", allow_fast_math: bool = False
) -> Setting:
    return Setting(cause=cause, arch=arch, wave=64, launches=launches, allow_fast_math=allow_fast_math)


def captured(kernel: Kernel, block: tuple[int, int, int] = (256, 1, 1)) -> CapturedLaunch:
    """A launch with a buffer of its own for every pointer."""
    addresses = {each.name: 4096 * (number + 1) for number, each in enumerate(kernel.pointers)}
    pointers = {name: Pointer(address, allocation=address) for name, address in addresses.items()}
    return CapturedLaunch(block=block, pointers=pointers)


def as_launched(source: Source, kernel: Kernel) -> CapturedLaunch:
    """The launch that the text shows, captured."""
    x, y, z = (*launches_of(source, kernel)[0].block_size, 1, 1)[:3]
    return captured(kernel, (x or 1, y or 1, z or 1))


class Tried:
    """What a transform made of the only kernel of a text."""

    def __init__(self, transform: Transform, text: bytes, known: Setting | None = None) -> None:
        self.source = parse(text)
        kernel = self.source.kernels[0]
        candidates, refused = transform.candidates(self.source, kernel, known or setting(captured(kernel)))
        self.candidates = {each.name: each for each in candidates}
        self.refused = {each.name: each.reason for each in refused}

    def text(self, name: str) -> str:
        """The text with one of the changes."""
        return self.candidates[name].applied_to(self.source.text).decode()

    @property
    def only(self) -> Candidate:
        (candidate,) = self.candidates.values()
        return candidate
