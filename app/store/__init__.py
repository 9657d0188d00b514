"""What outlives every job: rows in a database. Files stay files (uploads.py, jobs/).

`database` opens it and brings its tables up to date, `models` are the tables, `migrations` the
steps that made them; a file per kind of row holds all that is asked of it (`links`). Nothing else
in app/ speaks SQL.
"""
