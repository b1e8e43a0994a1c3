"""Directories and files of tables on disk, before any engine.

Directories are evidence, not orders (``partition_directories``). A directory below an external table names a
partition in any spelling that has one meaning; every other directory is reported with the reason. Where two
directories name one partition, none is registered; where partitions are discovered instead of registered, that is an
error.
"""
