"""Work that prepares jobs and reads no input of a user, so its results are trusted.

Children of the fork server do this work too, but the server keeps their results for all later jobs:
the drawn weights of samples, and the speeds of the machine. See preparations.py.
"""

from __future__ import annotations

from collections.abc import Callable

from app.jobs.results import Results
from app.jobs.task import MODEL, Task
from app.jobs.telling import sparsely
from app.jobs.worker import Work
from app.jobs.worker_slot import measuring
from app.rounds import Tell
from compiler.frontend.random_weights import random_weights
from compiler.machine.keep import processor
from compiler.machine.measure import ROUNDS, measure

MACHINE_PART = "machine"


def draw_weights(task: Task, results: Results) -> None:
    """Draw the weights of a sample. Errors: those of `random_weights`, E-LIMIT-OUTPUT."""
    drawn = random_weights(task.inputs[MODEL], task.request["seed"])
    results.write_file(task.request["file"], drawn)


def measure_machine(task: Task, results: Results) -> None:
    """Measure the speeds of this machine."""
    results.say("phase", {"phase": "machine", "words": "measuring this machine"})
    with measuring(results.say, 1):
        found = measure(processor(), _counted(sparsely(results.say)))
    results.write(MACHINE_PART, found.to_json())


def _counted(tell: Tell) -> Callable[[str], None]:
    """Return a function that counts measurements of the machine, and reports each as a finished
    round."""
    done = -1  # the first message is about compiling the probes

    def told(what: str) -> None:
        nonlocal done
        done += 1
        tell(done, done / ROUNDS)

    return told


TRUSTED: dict[str, Work] = {"draw_weights": draw_weights, "measure_machine": measure_machine}
