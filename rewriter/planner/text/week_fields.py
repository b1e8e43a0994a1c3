"""The year and the number of an ISO week, as Spark SQL over the time ``t`` at which it begins, a Monday."""

#: A week belongs to its Thursday's year.
WEEK_FIELDS = {
    "YYYY": "lpad(CAST(year(date_add(to_date({t}), 3)) AS STRING), 4, '0')",
    "ww": "lpad(CAST(weekofyear({t}) AS STRING), 2, '0')",
}
