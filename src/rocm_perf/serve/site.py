"""The pages and what they ask for, by their addresses."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path

from rocm_perf.serve import pages
from rocm_perf.serve.answers import JSON, REPORT_POLICY, Answer, Request, moved_to, page, tagged
from rocm_perf.serve.folders import Folders, Run
from rocm_perf.serve.perfetto import INSTALL, TRACES, PerfettoUi, media_type, opened_with, other_site, run_of
from rocm_perf.serve.summary import Summary
from rocm_perf.serve.wish import COMPARISON, REPORT, SAVED, TRACE, Wish
from rocm_perf.serve.workshop import Job, Workshop

_ASSETS = {name: Path(__file__).parent / "assets" / name for name in ("serve.css", "serve.js")}
_BYTES = "application/octet-stream"
_NOTHING = Answer(status=HTTPStatus.NOT_FOUND, type="text/plain")
_FILE_NAMES = {SAVED: "report.html", TRACE: "trace.pftrace"}


@dataclass(frozen=True)
class Site:
    """Answers requests that passed the guard."""

    folders: Folders
    workshop: Workshop
    watching: bool
    perfetto: PerfettoUi | None
    perfetto_root: str  # "/ANOTHER TOKEN/"

    def answer(self, request: Request) -> Answer:
        """The page at an address."""
        place = request.place
        if place in self._pages():
            return self._pages()[place](request)
        if len(place) == 1 and place[0] in _ASSETS:
            asset = _ASSETS[place[0]]
            return Answer(asset, f"{media_type(asset)}; charset=utf-8")
        if len(place) == 2 and place[0] == "job":
            return self._status(place[1])
        run = self.folders.run(place[1]) if len(place) == 2 else None
        if run and place[0] in ("run", "save", "perfetto", "trace"):
            return self._of_run(place[0], run, request)
        return not_found(request.root)

    def perfetto_file(self, place: str) -> Answer:
        """A file of Perfetto's page, or the trace that it was opened with."""
        if self.perfetto is None:
            return _NOTHING
        if place.startswith(TRACES):
            run = self.folders.run(run_of(place))
            job = self.workshop.known(Wish("trace", (run,))) if run else None
            return Answer(job.folder / TRACE, _BYTES) if job and job.state == "done" else _NOTHING
        file = self.perfetto.files.get(place)
        return Answer(file, media_type(file), policy=self.perfetto.policy) if file else _NOTHING

    def _pages(self) -> dict[tuple[str, ...], Callable[[Request], Answer]]:
        return {
            (): self._list,
            ("analyse",): self._analyse,
            ("compare",): self._compare,
            ("beside",): self._beside,
        }

    def _list(self, request: Request) -> Answer:
        if not self.watching:
            self.folders.look()
        rows = [
            pages.row(run, self.workshop.known(Wish("report", (run,))), summary=self._summary(run))
            for run in self.folders.runs
        ]
        shown = pages.list_page(rows, [str(path) for path in self.folders.paths], watching=self.watching)
        return tagged(page(shown), request)

    def _analyse(self, request: Request) -> Answer:
        """Begin the reports of the runs that were chosen."""
        if request.method == "POST":
            for run in self._chosen(request, "base", "new") or self.folders.runs:
                if not run.growing and not run.error:
                    self.workshop.ask(Wish("report", (run,)))
        return moved_to(request.root)

    def _of_run(self, what: str, run: Run, request: Request) -> Answer:
        if run.growing:
            return page(pages.growing_page(request.root, run))
        if run.error:
            return page(pages.failed_page(request.root, run.name, run.error))
        if what in ("run", "save"):
            job = self.workshop.ask(Wish("report", (run,)))
            shown = Answer(job.folder / REPORT, policy=REPORT_POLICY)
            return self._made(job, run.name, request, shown if what == "run" else _saved(job.folder / SAVED))
        if what == "trace":
            job = self.workshop.ask(Wish("trace", (run,)))
            return self._made(job, run.name, request, _saved(job.folder / TRACE))
        return self._in_perfetto(run, request)

    def _in_perfetto(self, run: Run, request: Request) -> Answer:
        if self.perfetto is None:
            return page(pages.no_perfetto_page(request.root, run, INSTALL))
        job = self.workshop.ask(Wish("trace", (run,)))
        site = f"http://{other_site(request.host)}{self.perfetto_root}"
        return self._made(job, run.name, request, moved_to(opened_with(site, run)))

    def _compare(self, request: Request) -> Answer:
        base, new = self._chosen(request, "base"), self._chosen(request, "new")
        if not base or not new:
            return page(
                pages.choose_page(request.root, "Choose at least one run as before and one as after.")
            )
        unready = [run for run in (*base, *new) if run.growing or run.error]
        if unready:
            return self._of_run("run", unready[0], request)
        job = self.workshop.ask(Wish("comparison", tuple(base), tuple(new)))
        name = f"{base[0].name} and {new[0].name}"
        return self._made(job, name, request, Answer(job.folder / COMPARISON, policy=REPORT_POLICY))

    def _beside(self, request: Request) -> Answer:
        """Two or more runs, one beside the other."""
        runs = self._chosen(request, "run", "base", "new")
        if len(runs) < 2:
            return page(pages.choose_page(request.root, "Choose two runs or more to see them side by side."))
        jobs = {
            run: self.workshop.ask(Wish("report", (run,)))
            for run in runs
            if not run.growing and not run.error
        }
        columns = [(run, jobs.get(run), self._summary(run)) for run in runs]
        return tagged(page(pages.beside_page(request.root, columns)), request)

    def _made(self, job: Job, name: str, request: Request, made: Answer) -> Answer:
        """What was made, or how far it is, or why it was not."""
        if job.parts:
            return page(pages.parts_page(request.root, name, job))
        if job.state == "done":
            return made
        if job.state == "failed":
            return page(pages.failed_page(request.root, name, job.error))
        return page(pages.waiting_page(request.root, name, job), HTTPStatus.ACCEPTED)

    def _status(self, name: str) -> Answer:
        job = self.workshop.job(name)
        if job is None:
            return Answer(b"{}", JSON, HTTPStatus.NOT_FOUND)
        status = {"over": job.is_over, "doing": job.doing, "share": job.share}
        return Answer(json.dumps(status).encode(), JSON)

    def _chosen(self, request: Request, *sides: str) -> list[Run]:
        names = dict.fromkeys(name for side in sides for name in request.query.get(side, ()))
        return [run for name in names if (run := self.folders.run(name))]

    def _summary(self, run: Run) -> Summary | None:
        job = self.workshop.known(Wish("report", (run,)))
        return job.summary() if job and job.state == "done" else None


def _saved(file: Path) -> Answer:
    """A file that the browser keeps rather than shows."""
    headers = {"Content-Disposition": f'attachment; filename="{_FILE_NAMES[file.name]}"'}
    return Answer(file, _BYTES, policy=REPORT_POLICY, headers=headers)


def not_found(root: str) -> Answer:
    """The answer to an address that means nothing here."""
    text = "Nothing is at this address. The run may have been moved or deleted."
    return page(pages.message_page(root, "Not here", text), HTTPStatus.NOT_FOUND)
