"""Data that outlives jobs: a database, and files by key (uploads.py and jobs/ decide which).

`sqlite` and `postgresql` have the settings of connections, and `dialects` has the other differences
of the two. `database` opens the database and migrates its tables. `copies` keeps copies from before
migrations. `watch` wakes threads after changes. `maintenance` checks and copies the database for
operators. `models` declares the tables, and `migrations` contains their versions. Each table has a
module or folder with its queries (`links`, `jobs`). SQL is confined to this folder. `blobs` stores
uploads and results by key.
"""
