"""A report: one HTML file that contains a job's result and the page, and that needs no server.

`contents` selects the API's answers for the report, and `beside` selects the answers about related
jobs. `page` assembles the file, `kept` caches its contents, and `findings` parses the related jobs
that the command line names. static/js/report.js is the entry point of the page in a report.
"""
