"""Data that outlives jobs, in a database; files are stored separately (uploads.py, jobs/).

`database` opens the database and migrates its tables, `models` declares the tables, and
`migrations` contains their versions. Each table has a module with its queries (`links`). SQL is
confined to this folder.
"""
