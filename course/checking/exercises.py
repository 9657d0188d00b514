"""Checks of exercises: the solution passes, the skeleton and all wrong solutions fail."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from time import perf_counter
from typing import Any

from compiler.errors import Where
from compiler.units import count_text
from course.checking.prose import long_sentences
from course.checking.report import Problem, Timed
from course.judging.judge import judge_in_process
from course.lessons import Folder

LEAST_WRONG = 6
"""Minimum number of wrong solutions of an exercise."""
N_HINTS = 3
SEEDS = (1, 2)
"""The seeds with which solutions are judged."""

Tell = Callable[[str], None]


def judged(folder: Folder, text: str, seed: int = 1) -> dict[str, Any]:
    """Judge a text as the answer to an exercise."""
    exercise = folder.exercise
    files = {exercise.declared.file: text}
    return judge_in_process({"exercise": exercise.to_json(), "files": files, "seed": seed})


def messages(answer: Mapping[str, Any]) -> str:
    """Return all messages of failed tests, and the message of the error."""
    failed = [f"{t['name']}: {t['message']}" for t in answer["tests"] if not t["passed"]]
    error = answer.get("error")
    return "\n".join([*failed, *([error["message"]] if error else [])])


def problems_of(folder: Folder, times: list[Timed], tell: Tell) -> Iterator[Problem]:
    """Yield the problems of an exercise, and add the times of its parts."""
    exercise = folder.exercise
    where, start = Where(exercise.source, 1, 1), perf_counter()
    yield from _words(folder, where)
    for seed in SEEDS:
        tell(f"{exercise.id}: solution")
        answer = judged(folder, folder.solution, seed)
        if answer["verdict"] != "passed":
            words = messages(answer) or answer["verdict"]
            yield Problem(where, f"the solution does not pass (seed {seed}): {words}")
            break
    tell(f"{exercise.id}: skeleton")
    if judged(folder, exercise.skeleton)["verdict"] == "passed":
        hint = "mark the lines of the solution that readers write"
        yield Problem(where, "the skeleton already passes", hint)
    yield from few_wrong(folder)
    for wrong in folder.wrong:
        tell(f"{exercise.id}: {wrong.name}")
        answer = judged(folder, wrong.text)
        found = messages(answer)
        if answer["verdict"] == "passed":
            yield Problem(where, f"the wrong solution {wrong.name!r} passes")
        elif wrong.expects not in found:
            message = f"{wrong.name!r} fails with another message than {wrong.expects!r}: {found}"
            yield Problem(where, message)
    times.append(Timed(exercise.id, exercise.kind, perf_counter() - start))


def few_wrong(folder: Folder) -> Iterator[Problem]:
    """Yield a problem if an exercise has fewer wrong solutions than a lesson needs."""
    if len(folder.wrong) < LEAST_WRONG:
        n = count_text(len(folder.wrong), "wrong solution")
        yield Problem(
            Where(folder.exercise.source, 1, 1), f"{n}; an exercise needs at least {LEAST_WRONG}"
        )


def _words(folder: Folder, where: Where) -> Iterator[Problem]:
    hints = folder.exercise.hints
    if len(hints) != N_HINTS or not all(h.strip() for h in hints):
        yield Problem(where, f"an exercise has {N_HINTS} hints, from vague to precise")
    if not folder.discussion.strip():
        hint = "describe other solutions and their costs"
        yield Problem(where, "the discussion of the solution is missing", hint)
    for text in (folder.exercise.task, folder.discussion, *hints):
        yield from long_sentences(text, where)
