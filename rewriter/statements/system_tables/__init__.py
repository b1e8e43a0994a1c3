"""The rows of system tables, one module for each subject: a generator of rows in the order of the table's columns.

They are computed from the snapshot of the statement when a query reads them, so all tables of a statement agree.
"""
