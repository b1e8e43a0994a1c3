"""Files in object stores, and what reads files wherever they are.

A path is a local absolute one or a URI (``rewriter.uris``). Local files are read and written by the modules that did so
before, whose rules about links are theirs (``rewriter.directory_changes``); wherever a path may be a URI, they ask
``registry.store_of`` for it. Object stores have no directories and no renames: nothing here relies on them. Which store
a URI leads to, and with which credentials, is said by the reader's own configuration alone (``options``), never by the
catalog.
"""
