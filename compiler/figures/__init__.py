"""The figures that the command line and the page show: one definition and one computation each.

A figure is a function with a title, a unit, and the places that show its value. The docstring of
the function defines the figure, and is shown in the page and in docs/figures.md. Inside this
folder, a file imports only from earlier files:

    figure -> models -> costs -> passes -> execution -> memory -> times -> errors -> listing
"""
