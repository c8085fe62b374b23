"""Candidates for a version of the source: what our transforms propose, then what others do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from rocm_perf.model.results.optimize import Attempt, Resources
from rocm_perf.optimize.candidate import Candidate, Refused
from rocm_perf.optimize.choice import Prospect
from rocm_perf.optimize.loop.trial import Version
from rocm_perf.optimize.proposers.command import command_proposer
from rocm_perf.optimize.proposers.exchange import Allowed, KernelProfile
from rocm_perf.optimize.proposers.files import patch_files
from rocm_perf.optimize.proposers.question import Proposer, Question
from rocm_perf.optimize.request import Request
from rocm_perf.optimize.source.model import Kernel
from rocm_perf.optimize.source.parse import Source, parse
from rocm_perf.optimize.transforms.setting import Setting
from rocm_perf.optimize.transforms.table import proposals


def proposers_of(request: Request) -> tuple[Proposer, ...]:
    """Those that the user named. Raises where one cannot be used."""
    files = [patch_files(path) for path in request.patches]
    return (*files, *([command_proposer(request.proposer)] if request.proposer else ()))


@dataclass(frozen=True)
class Proposing:
    """Who proposes what for one kernel."""

    file: str  # name of the source
    kernel: str
    setting: Setting
    compiler: str = ""
    prospect: Prospect | None = None
    resources: Resources | None = None
    proposers: tuple[Proposer, ...] = ()
    only_proposed: bool = False

    def __call__(self, version: Version, attempts: Sequence[Attempt]) -> list[Candidate | Refused]:
        """What may be tried on this version, in the order in which to try it."""
        source = parse(version.text, self.file)
        kernel = source.kernel(self.kernel)
        outcomes: list[Candidate | Refused] = []
        if not self.only_proposed:
            candidates, refused = proposals(source, kernel, self._setting(version))
            outcomes += [*refused, *candidates]
        question = self._question(source, kernel, attempts)
        for propose in self.proposers:
            answer = propose(question)
            outcomes += [*answer.refused, *answer.candidates]
        return outcomes

    def _setting(self, version: Version) -> Setting:
        """The setting, as it is with what was accepted so far."""
        setting = replace(self.setting, flags=(*self.setting.flags, *version.flags))
        if version.geometry is None:
            return setting
        block = version.geometry.block
        return replace(setting, launches=tuple(replace(one, block=block) for one in setting.launches))

    def _question(self, source: Source, kernel: Kernel, attempts: Sequence[Attempt]) -> Question:
        prospect = self.prospect
        return Question(
            file=self.file,
            source=source.text,
            kernel=self.kernel,
            span=(kernel.span.start, kernel.span.end),
            arch=self.setting.arch,
            compiler=self.compiler,
            cause=self.setting.cause,
            because=prospect.because if prospect else "",
            profile=KernelProfile(
                share=prospect.share if prospect else None,
                roof_share=prospect.roof_share if prospect else None,
                best_case=prospect.best_case if prospect else None,
                resources=self.resources,
            ),
            attempts=attempts,
            allowed=Allowed(fast_math=self.setting.allow_fast_math),
        )
