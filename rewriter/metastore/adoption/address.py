"""The address of a metastore: ``thrift://host:port``."""

from __future__ import annotations

import re
from dataclasses import dataclass

from rewriter.errors import InterfaceError

DEFAULT_PORT = 9083
_ADDRESS = re.compile(r"thrift://(?:\[([0-9A-Fa-f:.%]+)\]|([^\s/:\[\]@?#]+))(?::([0-9]{1,5}))?/?", re.IGNORECASE)


@dataclass(frozen=True)
class Address:
    """The host and the port of a metastore."""

    host: str
    port: int = DEFAULT_PORT

    @classmethod
    def parse(cls, text: str) -> Address:
        """Returns the address that a URI names, by default with the port 9083. Raises ``InterfaceError``.

        >>> Address.parse("thrift://Metastore.example")
        Address(host='metastore.example', port=9083)
        """
        match = _ADDRESS.fullmatch(text.strip())
        port = int(match[3] or DEFAULT_PORT) if match else 0
        if match is None or not 0 < port < 65536:
            raise InterfaceError(
                "The address of the metastore is not a URI of the form thrift://host:port.",
                object=text,
                hint="Write the value of hive.metastore.uris, such as thrift://metastore.example:9083. Name one host.",
            )
        return cls((match[1] or match[2]).lower(), port)

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"thrift://{host}:{self.port}"
