"""A report: one HTML file with the whole result of a job and the page to walk it, no server needed.

`contents` chooses the answers of the API that it holds, `page` puts the file together, `command`
makes one from a model on the command line. The page in it is static/js/report.js.
"""
