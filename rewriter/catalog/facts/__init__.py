"""The periods of a fact's tables: from partition values to periods and back.

A layout maps a time range to a range of partition keys, and to a range of values in SQL, if the key is in the
order of time. If fields or columns have another order, a period is looked up by its own key, many periods by the whole
table, and the layout filters the result; in SQL the start of the period is compared.
"""
