"""A list scheduler for the cores of one machine."""


def schedule(problem):
    """Return pairs of a task and a core, in the order of execution.

    Tasks have the numbers 0 to `problem.n` - 1. `problem.seconds[t][0]` is the time of a task, and
    `problem.before[t]` has a pair (u, bytes) for each task u whose result it reads.
    """
    names = [t.name for t in problem.graph.tasks]
    cores = [d.name for d in problem.platform.devices]
    # solution: return [(name, cores[0]) for name in names]
    left = [0.0] * problem.n
    for t in reversed(range(problem.n)):
        left[t] += problem.seconds[t][0]
        for u, _ in problem.before[t]:
            left[u] = max(left[u], left[t])
    free = [0.0] * len(cores)
    end, place, pairs, waiting = {}, {}, [], set(range(problem.n))
    while waiting:
        ready = [t for t in waiting if all(u in end for u, _ in problem.before[t])]
        t = max(ready, key=lambda t: (left[t], -t))

        def start(d, t=t):
            arrivals = [end[u] + (place[u] != d) * 1e-6 for u, _ in problem.before[t]]
            return max([free[d], *arrivals])

        d = min(range(len(cores)), key=start)
        place[t], end[t] = d, start(d) + problem.seconds[t][0]
        free[d] = end[t]
        pairs.append((names[t], cores[d]))
        waiting.remove(t)
    return pairs
    # end of the solution
