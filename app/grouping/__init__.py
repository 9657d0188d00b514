"""Groups of nodes for the drawing of a large graph: a tree over the nodes of the model.

`scopes` derives groups from names, `repeats` finds repeated blocks, `stretches` splits the other
nodes, and `tree` combines the groups. The page computes layouts: see docs/graph-view.md.
"""

from app.grouping.tree import Group, Homes, Item, adopt, tree_of

__all__ = ["Group", "Homes", "Item", "adopt", "tree_of"]
