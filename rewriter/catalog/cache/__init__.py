"""Catalog reads in memory, without any I/O.

The cache keeps each result with the list of valid write ids under which it was read, and returns it to any reader
with an equivalent list: no write to the object was committed between the two lists, so the store would return the
same. Lists of one object are nested, so the list with more valid ids is newer, and the newer result stays. A result
that is not about one object (a name that does not exist, all facts) is cached under a commit number.

The log of commits gives the lists. A log that was read up to commit N determines the list of every object at each
commit up to N. A reader that is not ahead of the log runs no statement; a reader that is ahead reads its list
from the database. A gap in the log drops lists, not results. A follower of the log may therefore be late, stop or die:
that costs reads, never a wrong result.
"""
