"""A report: one HTML file that contains a job's result and the page, and that needs no server.

`contents` selects the API's answers for the report, `page` assembles the file, and `command`
creates a report on the command line. static/js/report.js is the entry point of the page in a
report.
"""
