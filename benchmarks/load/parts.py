"""The parts of a result, as the page requests them: each once, like createParts in api.js."""

from __future__ import annotations

import asyncio
import random
from dataclasses import dataclass, field
from typing import Any

from benchmarks.load.client import Browser

_STEPS = 5000
_LEVELS = ("loops", "llvm", "asm")
_AHEAD = 2
"""The page requests the next graphs before the reader asks for them."""


@dataclass(eq=False)
class Parts:
    """The result of a compilation in the browser of a student."""

    browser: Browser
    job: str
    result: Any = None
    """The last summary, None before the first."""
    _asked: set[str] = field(default_factory=set[str])

    async def refresh(self) -> None:
        """Request the summary, which grows while the job runs."""
        answer = await self.browser.ask("GET", f"/api/v1/jobs/{self.job}/result", "api")
        if not answer.is_good:
            return
        try:
            self.result = answer.payload()
        except Exception as e:  # of three decompressors and of JSON
            self.browser.tally.defects[f"result: {type(e).__name__}"] += 1

    async def fetch(self, *names: str) -> None:
        """Request parts together, unless they were requested before."""
        new = [name for name in dict.fromkeys(names) if name not in self._asked]
        self._asked.update(new)
        await asyncio.gather(*(self.browser.get(f"/api/v1/jobs/{self.job}/{n}") for n in new))

    @property
    def stages(self) -> list[Any]:
        """The stages of the last summary."""
        return self.result["stages"] if self.result else []

    async def show_stage(self, stage: int) -> None:
        """Request the deltas up to a stage, and those of the next stages."""
        own = [row["graph_stage"] for row in self.stages[: stage + 1 + _AHEAD]]
        await self.fetch(*(f"stages/{each}/delta" for each in own))

    async def show_first(self) -> None:
        """Request what the page shows as soon as the model is imported."""
        await asyncio.gather(self.fetch("stages/0/delta", "union"), self.refresh())

    async def show_all(self) -> None:
        """Request what the page shows of a finished compilation."""
        await self.refresh()
        if not self.stages:
            return
        self._asked.discard("union")  # the complete drawing replaces that of the first stage
        await self.fetch("union", "provenance", "neighbours")
        await self.show_stage(self._most_saved())

    def _most_saved(self) -> int:
        """Return the stage after which the fewest nodes are left, roughly the one that the page
        shows."""
        return max(range(len(self.stages)), key=lambda i: (-self.stages[i]["n_nodes"], -i))

    def changed_stages(self) -> list[int]:
        """Return the stages that a reader walks."""
        return [row["stage"] for row in self.stages if row["changed"] or row["stage"] == 0]

    async def open_steps(self, stage: int) -> None:
        """Open the steps of a pass."""
        await self.fetch(f"stages/{stage}/steps?offset=0&limit={_STEPS}")

    async def open_text(self, stage: int) -> None:
        """Open the text of a stage, compared with the previous one."""
        before = max(0, stage - 1)
        texts = [f"stages/{self.stages[each]['graph_stage']}/text" for each in (before, stage)]
        await self.fetch(f"stages/{stage}/diff?against={before}&context=3", *texts)

    async def open_code(self, chance: random.Random, *levels: str) -> None:
        """Open levels of a kernel's code, linked by line; all levels side by side by default."""
        native = [row for row in self.result["kernels"] if row["native"]] if self.result else []
        if not native:
            return
        kernel = chance.choice(native)
        found = [each for each in levels or _LEVELS if each in kernel["parts"]]
        number = kernel["kernel"]
        links = [f"kernels/{number}/links"] if "asm" in kernel["parts"] else []
        await self.fetch(*links, *(f"kernels/{number}/{each}" for each in found))
