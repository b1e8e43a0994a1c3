"""The catalog's properties as part of a commit. They are one object, of which a commit makes a new version."""

from __future__ import annotations

from rewriter.catalog.clusters.catalog_properties import changed_properties
from rewriter.catalog.commit.commit_context import CommitContext
from rewriter.catalog.commit.object_changes import ObjectChanges
from rewriter.catalog.model.changes import SetCatalogProperty
from rewriter.catalog.model.objects import CatalogProperties
from rewriter.catalog.model.qualified_names import PROPERTIES_KEY
from rewriter.catalog.reading import queries
from rewriter.catalog.store.database import next_number
from rewriter.errors import ConflictError


def set_property(context: CommitContext, objects: ObjectChanges, change: SetCatalogProperty) -> None:
    """Sets a property, or removes it. A change that another commit has made since the transaction began is a conflict:
    the properties are checked together. The last property ends the object.
    """
    versions = queries.objects(context.connection, context.sequence, name=PROPERTIES_KEY)
    live, made_by = versions[0] if versions else (None, 0)
    seen = context.snapshot.properties()
    if context.snapshot.sequence < made_by < context.sequence or (live is None and seen):
        raise ConflictError(
            "another transaction has changed the properties of the catalog",
            object=change.name,
            hint="Run the statement again.",
        )
    before = dict(live.properties) if isinstance(live, CatalogProperties) else {}
    after = changed_properties(before, change.name, change.value)
    if after == before:
        return
    if live is None:
        objects.create(CatalogProperties(next_number(context.connection, "object"), after))
    elif after:
        objects.alter_properties(CatalogProperties(live.id, after))
    else:
        objects.drop(live)
