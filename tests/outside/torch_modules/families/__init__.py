"""The rows of the table, a file per family: each has a list `CASES`."""
