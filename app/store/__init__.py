"""Data that outlives jobs, in a database; files are stored separately (uploads.py, jobs/).

`database` opens the database and migrates its tables, `models` declares the tables, `migrations`
contains their versions; each kind of row has a file with its queries (`links`). No other module of
app/ uses SQL.
"""
