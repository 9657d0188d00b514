"""The buckets with the least padding, by dynamic programming."""


def buckets(lengths, most):
    """Return at most `most` sizes, such that runs of these lengths need the least padding.

    Each run uses the smallest size that is not less than its length.
    """
    lengths = sorted(lengths)
    # solution: return [lengths[-1]]
    # best[j] is the least padding of the j shortest runs, and the buckets for it.
    best = [(0, [])] + [(float("inf"), [])] * len(lengths)
    for _ in range(most):
        rows = [(0, [])]
        for j in range(1, len(lengths) + 1):
            size = lengths[j - 1]
            tried = []
            for i in range(j):
                padded = sum(size - n for n in lengths[i:j])
                tried.append((best[i][0] + padded, [*best[i][1], size]))
            rows.append(min(tried))
        best = rows
    return best[-1][1]
    # end of the solution
