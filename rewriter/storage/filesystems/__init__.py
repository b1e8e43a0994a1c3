"""Files wherever they are, through one small interface: on this machine's disks, and in object stores.

A path is a local absolute one or a URI (``rewriter.uris``), and ``registry.file_system_of`` returns the file system of
either. Object stores have no directories and no renames: nothing here relies on them, and no file is ever
replaced. Which store a URI leads to, and with which credentials, is said by the reader's own configuration alone
(``options``), never by the catalog.
"""
