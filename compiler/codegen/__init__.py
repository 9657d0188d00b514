"""Loop IR -> LLVM text -> machine code."""
