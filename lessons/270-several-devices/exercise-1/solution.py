"""A scheduler that takes the tasks in their order, and the device on which each ends first."""

from course.student.devices import Timeline


def schedule(problem):
    """Return pairs of a task's name and a device's name, in the order of execution.

    `problem.able[t]` are the numbers of the devices that can run task number t.
    `line.ends(t, d)` is the time at which task t would end on device d, with its transfers.
    """
    line, pairs = Timeline(problem), []
    for t in range(problem.n):
        # solution: device = problem.able[t][0]
        device = min(problem.able[t], key=lambda d: line.ends(t, d))
        # end of the solution
        line.put(t, device)
        pairs.append((problem.graph.tasks[t].name, problem.platform.devices[device].name))
    return pairs
