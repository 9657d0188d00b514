"""The lesson engine: reads lessons, runs their blocks, judges answers, and checks lessons.

The package runs under Pyodide: it imports neither Flask nor llvmlite, and starts no process at
import.
"""
