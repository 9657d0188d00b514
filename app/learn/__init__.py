"""The course in the browser: its lessons, and the pages that show them.

A module imports only modules before it in this list:

    markdown -> library -> explained -> contents -> pages
"""
