"""What every transform is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from rocm_perf.optimize.candidate import Candidate, Cause, Edit, Refused
from rocm_perf.optimize.source.model import Kernel
from rocm_perf.optimize.source.parse import Source
from rocm_perf.optimize.transforms.setting import Setting


@dataclass
class Proposals:
    """What a transform proposes, and what it refuses with the reason."""

    by: str
    candidates: list[Candidate] = field(default_factory=list)
    refused: list[Refused] = field(default_factory=list)

    def propose(self, name: str, *edits: Edit, flags: tuple[str, ...] = ()) -> None:
        """Adds a change of the kernel's text, or of the compiler's options."""
        self.candidates.append(Candidate(name=name, by=self.by, edits=edits, flags=flags))

    def refuse(self, name: str, reason: str) -> None:
        """Adds a change that must not be made."""
        self.refused.append(Refused(name=name, by=self.by, reason=reason))


Propose = Callable[[Source, Kernel, Setting, Proposals], None]


@dataclass(frozen=True)
class Transform:
    """A kind of change: its name, against which causes it helps (the lowest rank is tried first), and who proposes."""

    name: str
    ranks: Mapping[Cause, int]
    propose: Propose

    def candidates(
        self, source: Source, kernel: Kernel, setting: Setting
    ) -> tuple[list[Candidate], list[Refused]]:
        """The changes of this kind, and those that are refused."""
        proposals = Proposals(self.name)
        self.propose(source, kernel, setting, proposals)
        return proposals.candidates, proposals.refused
