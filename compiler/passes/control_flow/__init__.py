"""Passes on If, Loop, Scan and recurrent layers, and the building of graphs anew."""
