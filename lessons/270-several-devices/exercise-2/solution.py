"""HEFT: the task with the longest path to the end comes first."""

from course.student.devices import Timeline


def schedule(problem):
    """Return pairs of a task's name and a device's name, in the order of execution.

    `problem.after[t]` has pairs: a task that reads a result of task t, and the bytes of it.
    `problem.seconds[t][d]` is the time of task t on device d.
    """
    # solution: rank = [0.0] * problem.n
    rank = [0.0] * problem.n
    for t in reversed(range(problem.n)):
        rest = [problem.mean_delay(nbytes) + rank[reader] for reader, nbytes in problem.after[t]]
        own = sum(problem.seconds[t][d] for d in problem.able[t]) / len(problem.able[t])
        rank[t] = own + max(rest, default=0.0)
    # end of the solution
    line, pairs = Timeline(problem), []
    for t in sorted(range(problem.n), key=lambda t: -rank[t]):
        device = min(problem.able[t], key=lambda d: line.ends(t, d))
        line.put(t, device)
        pairs.append((problem.graph.tasks[t].name, problem.platform.devices[device].name))
    return pairs
