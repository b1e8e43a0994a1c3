"""The functions of Spark: the names of SHOW FUNCTIONS, each with its group, from a file of the package."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.resources import files

# The package may be in a zip file (``spark-submit --py-files``).
_STORED = files(__package__).joinpath("spark_functions.txt")
_ARITIES = files(__package__).joinpath("spark_arities.txt")

#: Functions of other databases, each with the one of Spark that takes the same arguments, or nearly the same.
_OF_OTHER_DATABASES = {
    "approx_distinct": "approx_count_distinct",
    "approx_quantile": "approx_percentile",
    "arbitrary": "any_value",
    "date_parse": "to_timestamp",
    "epoch": "unix_timestamp",
    "from_epoch": "from_unixtime",
    "quantile": "percentile",
    "quantile_cont": "percentile",
    "strftime": "date_format",
    "strptime": "to_timestamp",
    "time_bucket": "date_trunc",
    "today": "current_date",
}

#: Their first argument is a unit, not an expression.
_OF_THE_GRAMMAR = ("timediff", "timestampadd", "timestampdiff")


@cache
def function_groups() -> Mapping[str, str]:
    """Returns the group of each built-in function and operator of Spark, by its name in lower case.

    >>> function_groups()["median"]
    'agg_funcs'
    """
    lines = _STORED.read_text(encoding="utf-8").splitlines()
    return dict(line.split() for line in lines if not line.startswith("#"))


def is_function(name: str) -> bool:
    """Returns True for a built-in function of Spark, in lower case, also for one that only its grammar knows.

    >>> is_function("sum"), is_function("timestampdiff"), is_function("sumn")
    (True, True, False)
    """
    return name in function_groups() or name in _OF_THE_GRAMMAR


@cache
def _arities() -> Mapping[str, tuple[int, float]]:
    lines = (line.split() for line in _ARITIES.read_text(encoding="utf-8").splitlines() if not line.startswith("#"))
    return {name: (int(least), float("inf") if most == "-" else int(most)) for name, least, most in lines}


def wrong_arity(name: str, count: int) -> str | None:
    """Returns the numbers of arguments that a function of Spark takes, if ``count`` is none of them. Returns ``None``
    otherwise, and for a function whose numbers are not known.

    >>> wrong_arity("substr", 1), wrong_arity("coalesce", 0), wrong_arity("upper", 1)
    ('2 to 3 arguments', '1 argument or more', None)
    """
    least, most = _arities().get(name, (0, float("inf")))
    if least <= count <= most:
        return None
    words = f"{least} argument{'' if least == 1 else 's'}"
    if most == least:
        return words
    return f"{words} or more" if most == float("inf") else f"{least} to {most} arguments"


def similar_function(name: str, preferred: Iterable[str] = ()) -> str | None:
    """Returns the function whose name is most like ``name``: one of ``preferred`` if any is similar, otherwise any of
    Spark. A name that another database has stands for Spark's function.

    >>> similar_function("sumn"), similar_function("strftime"), similar_function("zzz")
    ('sum', 'date_format', None)
    """
    if name.lower() in _OF_OTHER_DATABASES:
        return _OF_OTHER_DATABASES[name.lower()]
    for names in (list(preferred), [name for name in function_groups() if name.isidentifier()]):
        nearest = difflib.get_close_matches(name.lower(), names, n=1, cutoff=0.75)
        if nearest:
            return nearest[0]
    return None
