"""A search that changes good schedules a little."""


def search(space, cost, chance):
    """Try schedules until the judge stops the search.

    `space.default` is the first point, `space.random(chance)` any point. `space.neighbour(p,
    chance)` differs from p in one knob, and `space.cross(p, q, chance)` mixes two points.
    """
    known = {space.default: cost(space.default)}
    while True:
        # solution: point = space.random(chance)
        best = sorted(known, key=known.get)[:4]
        mixed = space.cross(chance.choice(best), chance.choice(best), chance)
        point = space.neighbour(mixed, chance)
        # end of the solution
        known[point] = cost(point)
