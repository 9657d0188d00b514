"""A report: one HTML file with a job's result and the page; it needs no server.

`contents` selects the API's answers for the report, and `beside` selects the answers about related
jobs. `page` assembles the file, and `kept` caches its contents. `findings` parses the related jobs
that the command line names. static/js/report.js is the entry point of the page in a report.
"""
