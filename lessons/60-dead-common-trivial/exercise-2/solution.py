"""Dead code elimination: one walk from the results to the inputs."""

from dataclasses import replace

from course.student.graphs import Graph, Log


def run(graph: Graph, log: Log) -> Graph:
    """Return the graph without nodes and constants on which no result depends.

    A node has `outputs`, the names that it defines, and `reads`, the names that it reads.
    A graph has `nodes`, `results` (each with a `value`), and `constants` by name.
    """
    # solution: return replace(graph, nodes=graph.nodes, constants=graph.constants)
    live = {result.value for result in graph.results}
    kept = []
    for node in reversed(graph.nodes):
        if any(name in live for name in node.outputs):
            kept.append(node)
            live.update(node.reads)
    kept.reverse()
    constants = {name: c for name, c in graph.constants.items() if name in live}
    return replace(graph, nodes=tuple(kept), constants=constants)
    # end of the solution
