"""Permanent functions as Thrift structures, and back. Their classes are the clients', and are never loaded here."""

from __future__ import annotations

import re
from typing import Any

from rewriter.catalog.model.objects import Function, full_name, parts_of
from rewriter.errors import AnalysisError
from rewriter.metastore.descriptors import CATALOG
from rewriter.metastore.wire.interface import structure

_Function: Any = structure("Function")
_Resource: Any = structure("ResourceUri")
#: The numbers of the kinds of resources.
_RESOURCES = {"JAR": 1, "FILE": 2, "ARCHIVE": 3}
_KINDS = {number: kind for kind, number in _RESOURCES.items()}
_JAVA, _OWNER_IS_USER = 1, 1
_NAME = re.compile(r"\w{1,128}")


def catalog_function(given: Any, id: int, database: str, created: int) -> Function:
    """Returns the function of the catalog that a client or another metastore describes, in a database.

    ``created`` is in seconds since 1970, for a description without a time. Raises ``AnalysisError``
    INVALID_SCHEMA_OR_RELATION_NAME for one without a class, or with a name that no function can have.
    """
    name = str(given.functionName or "")
    if not _NAME.fullmatch(name) or not given.className:
        raise AnalysisError(
            "A function needs a name of letters, digits and underscores, and a class.",
            condition="INVALID_SCHEMA_OR_RELATION_NAME",
            sqlstate="42602",
            object=name,
            hint="Choose another name.",
        )
    return Function(
        id,
        full_name(database, name.lower()),
        str(given.className),
        given.ownerName or None,
        given.createTime or created,
        tuple((_KINDS.get(resource.resourceType, "JAR"), str(resource.uri)) for resource in given.resourceUris or ()),
    )


def thrift_function(function: Function) -> Any:
    """Returns a function as clients see it."""
    database, name = parts_of(function.name)
    return _Function(
        functionName=name,
        catName=CATALOG,
        dbName=database,
        className=function.class_name,
        ownerName=function.owner or "",
        ownerType=_OWNER_IS_USER,
        createTime=function.created,
        functionType=_JAVA,
        resourceUris=[_Resource(resourceType=_RESOURCES.get(kind, 1), uri=uri) for kind, uri in function.resources],
    )
