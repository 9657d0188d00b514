"""Data that outlives jobs: a database, and files by key (uploads.py and jobs/ decide which).

`sqlite` has the settings of SQLite, `database` opens the database and migrates its tables,
`dialects` has what differs between databases, `watch` wakes threads after changes, and
`maintenance` checks and copies the database for operators. `models` declares the tables, and
`migrations` contains their versions. Each table has a module or folder with its queries (`links`,
`jobs`). SQL is confined to this folder. `blobs` stores uploads and results by key.
"""
