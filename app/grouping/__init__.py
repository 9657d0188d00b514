"""Groups of nodes for the drawing of a large graph: a tree over the nodes of the model.

`scopes` reads it from names, `repeats` finds equal blocks in a row, `stretches` cuts what is left;
`tree` puts them together. Nothing here knows of places: see docs/graph-view.md.
"""

from app.grouping.tree import Group, Homes, Item, tree_of

__all__ = ["Group", "Homes", "Item", "tree_of"]
