"""Searches from research, which `best` runs if the greedy orders leave a gap.

| planner | purpose |
|---|---|
| `planar` | plans without a gap, in linear time, if blocks join without ambiguity |
| `joined` | smaller problems for complete search: blocks joined into rectangles |
| `rejoined` | like `joined`, but wrong joins are undone, and blocks are joined again |
| `annealed` | joins chosen by simulated annealing, for thousands of blocks |
| `skyline` | plans without a gap from the bottom up, by beam search |
| `ejection` | plans within a capacity: a block that fits into no gap ejects other blocks |
| `repair` | plans of 3,000 to 150,000 blocks, lowered step by step |

`joining`, `rejoining` and `spare` are modules that the planners share.
"""
