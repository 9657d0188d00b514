"""A report: one HTML file with the whole result of a job and the page, usable without a server.

`contents` selects the API's answers for the report, `page` assembles the file, and `command`
creates a report on the command line. static/js/report.js is the entry point of its page.
"""
