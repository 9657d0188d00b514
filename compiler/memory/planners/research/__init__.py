"""Searches from research, which `best` runs if the greedy orders leave a gap.

| planner | purpose |
|---|---|
| `planar` | plans without a gap, in linear time if each handover of bytes has one candidate |
| `joined` | smaller problems for complete search: blocks joined into rectangles |
| `rejoined` | like `joined`, but wrong joins are undone, and blocks are joined again |
| `annealed` | joins chosen by simulated annealing, for thousands of blocks |
| `skyline` | plans with few unused bytes, from the bottom up, by beam search |
| `ejection` | plans within a capacity: a block that fits into no gap ejects other blocks |
| `repair` | plans of 3,000 to 150,000 blocks, with a peak that is lowered step by step |

The planners share the modules `joining`, `rejoining` and `spare`.
"""
