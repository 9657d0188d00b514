"""A report: one HTML file with the whole result of a job and the page, usable without a server.

`contents` selects the API's answers for it, `page` assembles the file, and `command` creates one
from a model on the command line. static/js/report.js is its entry point.
"""
