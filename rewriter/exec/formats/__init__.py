"""File formats, one module each. A format is a ``file_format.FileFormat``: its name, how a file of it is opened for
writing, and whether an open file holds many rows in memory. ``registry`` finds it by name; sinks know nothing else.

The modules also run in Spark's Python workers, shipped by value, so they import nothing outside this folder.
"""
