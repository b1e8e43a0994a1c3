"""The formats of data files, as values: names, Hive's classes, what engines read by themselves, what files cannot hold.

``registry`` has one ``DataFormat`` for each format, and is the only list of them. The code that reads and writes the
files of a format is one module of ``exec.formats``, which ``DataFormat.module`` names. A new format is these two.
"""
