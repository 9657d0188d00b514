"""Data that outlives jobs, in a database; files are stored separately (uploads.py, jobs/).

`sqlite` has the settings of SQLite, `database` opens the database and migrates its tables,
`maintenance` checks and copies it for operators. `models` declares the tables, and
`migrations` contains their versions. Each table has a module with its queries (`links`). SQL is
confined to this folder.
"""
