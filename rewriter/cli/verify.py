"""``rewriter verify FILE``: whether a certificate stands, and what has changed since."""

from __future__ import annotations

import json
from typing import Any

import click

from rewriter.cli.connection import connection, connection_options

#: The exit codes: the catalog contradicts the certificate; it has a part that the checker does not know or cannot see.
_REFUTED, _UNDECIDED = 1, 3


@click.command()
@connection_options
@click.argument("file", type=click.File("r", encoding="utf-8"))
def verify(file: Any, **options: Any) -> int:
    """Check a certificate of a result against the catalog.

    FILE is the output of EXPLAIN CERTIFICATE; - is stdin. The command says whether the evidence still stands, and which
    partitions have changed since.

    Exit codes: 0 if the certificate is accepted; 1 if the catalog contradicts it; 3 if it has a part that the checker
    does not understand, or that the catalog no longer shows.
    """
    try:
        certificate = json.load(file)
    except (ValueError, UnicodeDecodeError) as error:
        raise click.UsageError(f"{file.name} is no JSON: {error}") from None
    if not isinstance(certificate, dict):
        raise click.UsageError(f"{file.name} is no certificate: it is no JSON object.")
    with connection(**options).reading_session("Name the warehouse's directory with -w.") as session:
        from rewriter.statements.query.certificates import changes_since, check_certificate

        verdict = check_certificate(certificate, session.catalog)
        for finding in verdict.findings:
            click.echo(str(finding))
        if verdict.is_refuted:
            click.echo("The certificate is refuted.")
            return _REFUTED
        if not verdict.is_accepted:
            click.echo("The certificate is not accepted, and not refuted.")
            return _UNDECIDED
        click.echo(f"The certificate is accepted: the evidence stands at commit {certificate['commit']}.")
        changes = changes_since(certificate, session.catalog)
        for line in changes or ["nothing"]:
            click.echo(f"Changed since: {line}.")
    return 0
