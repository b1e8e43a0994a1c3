"""The code that reads and writes files, one module for each format of ``rewriter.data_formats``.

A module has a ``WRITER``, a ``file_format.FileFormat``: its name, how a file of it is opened for writing, and whether
an open file holds many rows in memory. ``registry`` finds it by name; sinks know nothing else. Its ``READER``, a
``file_format.FileReader``, examines and reads files.

The writers also run in Spark's Python workers, shipped by value, so they use nothing outside this folder; so do the
readers of formats that Spark does not read by itself.
"""
