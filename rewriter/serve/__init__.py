"""What can be queried now, what is due, and queries, live in a browser; read-only.

Whoever has the URL may read: it contains a token that no one can guess, and every path begins with it. There is no
cookie, which the servers of other ports of the host would get, too. The Host header must be an address of the server,
so that no name that another site gave to this address leads here. Queries run on DuckDB in this process, over tables of
the catalog alone, where only this machine reaches the server or ``--queries run`` says so; otherwise they are planned.
"""
