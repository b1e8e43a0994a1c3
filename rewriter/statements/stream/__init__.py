"""Streams: INSERT … FROM STREAM, ``session.stream``, SHOW STREAMS, STOP STREAM.

A stream loads a table batch by batch. A batch is one INSERT, whose commit also notes the batch (``CommitBatch``): after
a kill at any point the batch was committed as a whole, or nothing of it was, and the next run goes on from there. The
checkpoint directory holds the plan of each batch, so that a batch that runs again has the same rows.
"""
