"""The data folder as a whole, for operators: backup, restore and check.

`files` determines the files of the folder that contain data. A backup has the same files in the
same folders, and `manifest` lists them with their digests. `compilarium data` has the commands.
"""
