"""Names between backquotes."""

from __future__ import annotations

import re
from typing import Any

from sqlalchemy.sql.compiler import RESERVED_WORDS, IdentifierPreparer

#: Words that end a name's place in a query, beside those of SQLAlchemy.
_WORDS = frozenset(
    "anti any at both by cluster cross cube date day div exists extract filter from hour insert interval lateral "
    "leading limit map minus minute month natural offset over partition pivot position qualify row rows second semi "
    "set sort struct table tablesample timestamp timestampadd timestampdiff trailing transform unpivot values window "
    "with within year".split()
)


class BackquotedNames(IdentifierPreparer):
    """Quotes all names but words of small ASCII letters, digits and underscores that are no keywords."""

    reserved_words = RESERVED_WORDS | _WORDS
    legal_characters = re.compile(r"[A-Za-z0-9_]+\Z")

    def __init__(self, dialect: Any) -> None:
        super().__init__(dialect, initial_quote="`", escape_quote="`")
