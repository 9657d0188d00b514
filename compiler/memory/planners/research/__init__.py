"""Searches from research, which `best` runs if the greedy orders leave a gap.

| planner | purpose |
|---|---|
| `planar` | plans without a gap, in linear time, if blocks join without ambiguity |
| `joined` | smaller problems for complete search: blocks joined into rectangles |
| `rejoined` | the same if some joins are wrong: joins are undone and made again |
| `annealed` | joins chosen by simulated annealing, for thousands of blocks |
| `skyline` | plans without a gap from the bottom up, by beam search |
| `ejection` | plans within a capacity: a block without a gap ejects others |
| `repair` | plans of 3,000 to 150,000 blocks, lowered step by step |

`joining`, `rejoining` and `spare` are their shared parts. docs/memory-planning.md has measurements.
"""
