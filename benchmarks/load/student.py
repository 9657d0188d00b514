"""A student: opens the page, uploads models, compiles, walks the stages, opens panes, and thinks.

The requests are those of the page (static/js): main.js at its start, panes/models/upload.js,
jobs/compile.js, jobs/loader.js, and the panes.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from contextlib import aclosing, suppress
from time import monotonic
from typing import Any
from urllib.parse import quote

from benchmarks.load.client import Browser
from benchmarks.load.lesson import Called, Lesson, Over, Presence
from benchmarks.load.models import small_model
from benchmarks.load.parts import Parts
from benchmarks.load.site import Site
from benchmarks.load.tally import Compilation

_TERMINAL = ("finished", "failed", "cancelled")
_THINK_S = 6.0
_LOOK_S = 2.5
_LONGEST_PAUSES = 4.0
"""The longest pause, in mean pauses."""
_FIRST = ("about", "sandbox", "samples", "pipelines?outline=1")
_LATER = ("pipelines", "operators")
_AGAIN_S = 1.0
_AGAIN_MOST_S = 8.0
_MOST_LOSSES = 8

Shared = tuple[dict[str, Any], str]
"""A compile request, and the path of its short link."""


class Student:
    """A student with a browser. All random choices follow from the seed."""

    def __init__(self, browser: Browser, site: Site, lesson: Lesson, seed: int) -> None:
        self.browser, self.site, self.lesson, self.seed = browser, site, lesson, seed
        self.chance = random.Random(seed)
        self.n_models = 0
        self.model: bytes = b""
        self.upload = ""
        self.is_prepared = False

    async def live(self, first_pause_s: float) -> None:
        """Use the page until the lesson is over."""
        try:
            with suppress(Over):
                is_called = not await self._is_undisturbed(self._pause_for(first_pause_s))
                await self._open("/")
                while True:
                    is_called = not await self._is_undisturbed(self._study(is_called))
        finally:
            await self.browser.close()

    async def _is_undisturbed(self, work: Awaitable[None]) -> bool:
        """Return whether the teacher did not call during this work."""
        try:
            await work
        except Called:
            return False
        return True

    async def _pause(self, mean_s: float) -> None:
        seconds = min(self.chance.expovariate(1 / mean_s), _LONGEST_PAUSES * mean_s)
        await self._pause_for(seconds)

    async def _pause_for(self, seconds: float) -> None:
        await self.lesson.pause(seconds)

    async def _study(self, at_once: bool) -> None:
        """Choose a model, compile it, and look at the result; `at_once` if the teacher calls."""
        if not self.upload or (not at_once and self.chance.random() < 0.7):
            await self._send_model(self.chance.random() < 0.85 or not self.model)
        if not at_once:
            await self._pause(_THINK_S)
        parts = await self._compile(_request_of(self.upload)) if self.upload else None
        if parts is not None and parts.result is not None:
            await self._look_at(parts)
        await self.chance.choices(
            (self._reload, self._open_a_link, self._nothing), (0.15, 0.2, 0.65)
        )[0](parts)

    async def _nothing(self, parts: Parts | None) -> None:
        await self._pause(_LOOK_S)

    # The page.

    async def _open(self, path: str, *, again: bool = False) -> None:
        """Open a page with its files; with `again`, ask whether the copies are still valid."""
        await self.browser.get(path, "html")
        self.is_prepared = False
        await asyncio.gather(
            *(self.browser.get(each, "static", again=again) for each in self.site.first)
        )
        await asyncio.gather(*(self.browser.get(f"/api/v1/{each}") for each in _FIRST))

    async def _prepare(self) -> None:
        """Fetch what the page needs after the first action of the reader."""
        if self.is_prepared:
            return
        self.is_prepared = True
        answers = (self.browser.get(f"/api/v1/{each}") for each in _LATER)
        files = (self.browser.get(each, "static") for each in self.site.later)
        await asyncio.gather(*files, *answers)

    async def _reload(self, parts: Parts | None) -> None:
        """Reload the page: it restores the result that its address names."""
        await self._open("/", again=self.chance.random() < 0.5)
        await self._prepare()
        if parts is not None:
            await self.browser.get(f"/api/v1/jobs/{parts.job}")
            await Parts(self.browser, parts.job).show_all()
        await self._pause(_LOOK_S)

    async def _open_a_link(self, parts: Parts | None) -> None:
        """Share the result, or open a link that another student has shared."""
        if parts is not None and (not self.lesson.links or self.chance.random() < 0.4):
            stage = len(parts.stages) - 1
            model = quote(f"upload:{self.upload}", safe="")
            fragment = f"v=1&screen=walk&model={model}&stage={stage}"
            answer = await self.browser.post("/api/v1/links", {"fragment": fragment})
            if answer.is_good:
                self.lesson.links.append((answer.payload()["path"], self.upload))
        elif self.lesson.links:
            path, upload = self.chance.choice(self.lesson.links)
            await self._open(path)
            await self._prepare()
            opened = await self._compile(_request_of(upload), reuse=True)
            if opened is not None:
                await opened.show_all()
        await self._pause(_LOOK_S)

    # Models.

    async def _send_model(self, is_new: bool) -> None:
        """Upload a new model, or the last one again, and inspect it."""
        await self._prepare()
        if is_new:
            self.n_models += 1
            self.model = small_model(self.seed * 10_000 + self.n_models)
        path = f"/api/v1/uploads?name=model-{self.seed}-{self.n_models}.onnx"
        headers = {"Content-Type": "application/octet-stream"}
        answer = await self.browser.ask("POST", path, "change", self.model, headers)
        self.upload = answer.payload()["id"] if answer.is_good else ""
        if not self.upload:
            return
        asked = {"kind": "inspect", "model": {"upload": self.upload}}
        job = await self._submit("/api/v1/jobs", asked)
        if not job:
            return
        if self.chance.random() < 0.15:  # the student compiles before the inspection has ended
            await self.browser.ask("DELETE", f"/api/v1/jobs/{job}", "change")
            return
        outcome = await self._follow(job, lambda name, _: None)
        self._count_other("inspect", outcome)
        if outcome == "finished":
            await self.browser.ask("GET", f"/api/v1/jobs/{job}/result", "api")

    async def _submit(self, path: str, asked: Any) -> str:
        """Submit a job, and return its id; "" if the server refuses."""
        answer = await self.browser.post(path, asked)
        return str(answer.payload()["id"]) if answer.is_good else ""

    # Jobs.

    async def _compile(self, asked: Any, *, reuse: bool = False) -> Parts | None:
        """Compile, and show the results as they arrive."""
        async with self.lesson.seat() as seat:
            begin = monotonic()
            job = await self._submit("/api/v1/jobs" + ("?reuse=1" if reuse else ""), asked)
            if not job:
                return None
            parts = Parts(self.browser, job)
            is_left = not reuse and self.chance.random() < 0.06
            fetches: list[asyncio.Task[None]] = []
            leaving = asyncio.create_task(self._leave(job)) if is_left else None
            started_s = 0.0

            def hear(name: str, data: Any) -> None:
                nonlocal started_s
                if name == "started" and not started_s:
                    started_s = monotonic()
                if wanted := _wanted(parts, name, data):
                    fetches.append(asyncio.create_task(wanted()))

            outcome = await self._follow(job, hear, reloads=self.chance.random() < 0.04)
            seconds = monotonic() - begin
            self._count(seat, begin, seconds, started_s, "shared" if reuse else outcome)
            await asyncio.gather(*fetches)
            if leaving is not None:
                await leaving
        if outcome == "finished":
            await parts.show_all()
        return parts

    def _count(
        self, seat: Presence, begin: float, seconds: float, started_s: float, outcome: str
    ) -> None:
        start_s = begin - self.lesson.start_s
        waited_s = started_s - begin if started_s else 0.0
        found = Compilation(start_s, seconds, waited_s, outcome, seat.n_most)
        self.browser.tally.compilations.append(found)

    def _count_other(self, kind: str, outcome: str) -> None:
        """Count a job that is no compilation."""
        self.browser.tally.other_jobs[f"{kind} {outcome}"] += 1

    async def _leave(self, job: str) -> None:
        """Cancel a job soon."""
        await asyncio.sleep(self.chance.expovariate(2.0) * self.lesson.pace)
        await self.browser.ask("DELETE", f"/api/v1/jobs/{job}", "change")

    async def _follow(
        self, job: str, hear: Callable[[str, Any], None], *, reloads: bool = False
    ) -> str:
        """Follow the events of a job to its end, and return the name of the last event.

        A stream that ends early is opened again after its last event; a page that `reloads`
        begins anew.
        """
        path, after, n_losses = f"/api/v1/jobs/{job}/events", "", 0
        while True:
            async with aclosing(self.browser.events(path, after)) as stream:
                async for event in stream:
                    n_losses, after = 0, event.id
                    hear(event.name, event.data)
                    if event.name == "failed":
                        self._note_failure(event.data)
                    if event.name in _TERMINAL:
                        return event.name
                    if reloads:
                        break
            if reloads:
                reloads, after = False, ""
                await self._open("/")
                await self.browser.get(f"/api/v1/jobs/{job}")
                continue
            outcome = await self._outcome(job)
            if outcome:
                return outcome
            await asyncio.sleep(min(_AGAIN_MOST_S, _AGAIN_S * 2**n_losses))
            n_losses += 1
            if n_losses > _MOST_LOSSES:
                self.browser.tally.defects["a job without an end"] += 1
                return "lost"

    def _note_failure(self, data: Any) -> None:
        """Count a failed job as an error: the models of students are valid."""
        code = (data.get("error") or {}).get("code", "without a code")
        self.browser.tally.defects[f"a failed job: {code}"] += 1

    async def _outcome(self, job: str) -> str:
        """Return how a job has ended, like its terminal event; "" if it has not ended."""
        answer = await self.browser.ask("GET", f"/api/v1/jobs/{job}", "api")
        if not answer.is_good:
            return "lost"
        found = answer.payload()
        state = found["state"]
        if state == "failed":
            self._note_failure(found)
        ends = {"succeeded": "finished", "failed": "failed", "cancelled": "cancelled"}
        return ends.get(state, "")

    # Results.

    async def _look_at(self, parts: Parts) -> None:
        """Walk some stages, and open some panes."""
        changed = parts.changed_stages()
        for stage in changed[: self.chance.randint(1, 6)]:
            await parts.show_stage(stage)
            await self._pause(_LOOK_S)
            if self.chance.random() < 0.4:
                await parts.open_steps(stage)
            if self.chance.random() < 0.25:
                await parts.open_text(stage)
        for _ in range(self.chance.randint(1, 4)):
            await self._pause(_LOOK_S)
            await self._open_pane(parts)

    async def _open_pane(self, parts: Parts) -> None:
        """Open a pane. The memory plan and the table of kernels need no request."""
        names, weights = zip(*_PANES.items(), strict=True)
        (pane,) = self.chance.choices(names, weights)
        if pane == "stack":
            await parts.open_code(self.chance)
        elif pane in ("loops", "llvm", "asm", "schedule"):
            await parts.open_code(self.chance, pane)
        elif pane in _JOBS:
            await self._open_job_pane(parts, pane)

    async def _open_job_pane(self, parts: Parts, pane: str) -> None:
        """Open a pane that starts a job about the result, and show what the job finds."""
        if pane == "placements":
            await self.browser.get("/api/v1/platforms")
        asked = _JOBS[pane]
        if pane == "targets":
            fitting = [k["kernel"] for k in parts.result["kernels"] if "computation" in k["parts"]]
            if not fitting:
                return
            asked = {"kernel": self.chance.choice(fitting)}
        job = await self._submit(f"/api/v1/jobs/{parts.job}/{pane}", asked)
        if not job:
            return
        outcome = await self._follow(job, lambda name, _: None)
        self._count_other(pane, outcome)
        if outcome == "finished":
            await self.browser.get(f"/api/v1/jobs/{job}/{pane}")


_PANES = {
    "stack": 3.0,
    "loops": 3.0,
    "llvm": 2.0,
    "asm": 2.0,
    "schedule": 1.0,
    "memory": 2.0,
    "placements": 0.4,
    "numerics": 0.4,
    "targets": 0.3,
    "profile": 0.1,
}
"""How often students open each pane, relative to each other."""
_JOBS: dict[str, Any] = {
    "placements": {"platform": "gpu", "scheduler": "iterated", "ahead": None},
    "numerics": {},
    "targets": {},
    "profile": {"seconds": 0.5},
}
"""The requests of panes that start a job."""


def _request_of(upload: str) -> dict[str, Any]:
    """Return the page's request to compile an upload with its default options."""
    return {
        "kind": "compile",
        "model": {"upload": upload},
        "pipeline": "default",
        "shapes": {},
        "options": {"precision": "f32", "threads": 1},
    }


def _wanted(parts: Parts, name: str, data: Any) -> Callable[[], Any] | None:
    """Return what the page requests at an event of a compilation; None for nothing."""
    if name == "imported":
        return parts.show_first
    is_end_of_passes = name == "phase" and data.get("phase") == "code"
    if parts.result is not None and (is_end_of_passes or name == "ready"):
        return parts.refresh
    return parts.refresh if name == "ready" and data.get("part") == "code" else None
