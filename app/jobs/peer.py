"""The job that times a compiled model and another runtime together."""

from __future__ import annotations

from dataclasses import dataclass

from app.jobs.models import compilation_of, model_file
from app.jobs.recompile import recompiled
from app.jobs.results import Results
from app.jobs.task import COMPILED, Task
from app.jobs.worker_slot import measuring
from app.wire import peers as wire
from app.wire.asked import Asked, Sent, asked
from app.wire.fields import choice, number
from compiler.bench import peers
from compiler.bench.versus import versus
from compiler.runtime.compare import compare, worst


@dataclass(frozen=True, slots=True)
class PeerRequest(Asked):
    """The request of a comparison with another runtime; `job` is the compilation of the model."""

    kind = "peer"
    sent = Sent("PeerOptions", "The other runtime, and the minimum duration in seconds.")

    peer: str = asked(choice(peers.names()))
    seconds: float = asked(number(0.5, 20.0), 3.0)


def compare_with_peer(task: Task, results: Results) -> None:
    """Repeat a finished compilation, and time its program and a peer on the same inputs.

    Errors: E-OPTION-VALUE if the peer is not installed or rejects the model, E-RESULT-ABSENT if the
    compilation was evicted, and the errors of the model or its inputs.
    """
    request, say, made = task.request, results.say, compilation_of(task)
    say("phase", {"phase": "code", "words": "generating the code again"})
    again = recompiled(made, task.parts_of(COMPILED))
    seed, threads = again.options["seed"], again.options["threads"]
    inputs = again.inputs()
    say("phase", {"phase": "peer", "words": "loading the model in the other runtime"})
    peer = peers.load_peer(request["peer"], model_file(made), threads)
    ours, theirs = again.program.run(inputs), peers.first_run(peer, inputs)
    error = worst(compare(ours, theirs))
    say("phase", {"phase": "measure", "words": "timing both programs, interleaved"})
    calls = (lambda: again.program.run(inputs), lambda: peer.run(inputs))
    with measuring(say, threads) as slot:
        found = versus([calls[0]], [calls[1]], request["seconds"], slot.pause)
    options = {"threads": threads, "seed": seed}
    payload = wire.peer_comparison(peer, found, error, options, slot.disturbance())
    results.write("peer", payload)
    say("ready", {"part": "peer"})
