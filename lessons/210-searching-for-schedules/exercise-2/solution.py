"""A learned cost model: least squares on logarithms."""

import numpy as np


def described(f):
    """Return the numbers from which the model predicts.

    `f` has rows and vectors of the tile, their product, the steps of a part of the reduction, and
    1 if rows are outermost.
    """
    rows, vectors, sums, steps, first = f
    # solution: return [1.0, rows]
    r, v = np.log(rows), np.log(vectors)
    spilled = max(sums + vectors - 14.0, 0.0) / sums
    return [1.0, r, v, r * r, v * v, r * v, np.log(steps), first, spilled]
    # end of the solution


def fit(features, costs):
    """Return a function that predicts the cost of other features."""
    table = np.array([described(f) for f in features])
    weights = np.linalg.lstsq(table, np.log(costs), rcond=None)[0]
    return lambda f: float(np.dot(described(f), weights))
