"""The options of an engine that a cluster's definition may have.

Any user of the catalog may write a definition. It must not run code on the machine of a reader, nor send the reader's
credentials to another address, nor change results. So only settings of resources may be in it, and of these a reader's
configuration allows some by name (``runtime.cluster_access``).
"""

from __future__ import annotations

import re

_RESOURCES = re.compile(
    r"spark\.("
    r"(driver|executor)\.(memory|memoryoverhead|memoryoverheadfactor|cores)|driver\.maxresultsize|executor\.instances|"
    r"cores\.max|default\.parallelism|task\.(cpus|maxfailures)|memory\.(fraction|storagefraction|offheap\.(enabled|size))|"
    r"dynamicallocation\.[a-z.]+|speculation(\.[a-z.]+)?|locality\.wait(\.[a-z]+)?|network\.timeout|"
    r"scheduler\.(mode|pool|minregisteredresourcesratio|maxregisteredresourceswaitingtime)|reducer\.maxsizeinflight|"
    r"sql\.(shuffle\.partitions|adaptive\.(?!custom)[a-z.]+|autobroadcastjointhreshold|broadcasttimeout|"
    r"files\.(maxpartitionbytes|maxpartitionnum|minpartitionnum|opencostinbytes))"
    r")"
)
_VALUE = re.compile(r"[A-Za-z0-9._*+-]{1,100}")
_CREDENTIALS = re.compile(r"spark\.hadoop\..*|.*(secret|password|token|credential|key|keytab|principal|authenticate).*")
_CODE = re.compile(
    r".*(jar|package|plugin|class|java|listener|extension|python|script|serializer|env\b).*|"
    r"spark\.sql\.catalog.*|spark\.(submit|files|archives)\b.*"
)


def option_problem(name: str, value: str) -> str | None:
    """Returns why a definition may not have an option; ``None`` if it may.

    >>> option_problem("spark.executor.memory", "2g") is None
    True
    >>> option_problem("spark.hadoop.fs.s3a.secret.key", "x")
    'credentials and settings of filesystems are never stored in the catalog'
    >>> option_problem("spark.driver.extraJavaOptions", "x")
    'it can run code on the machine of a reader'
    """
    lowered = name.lower()
    if _RESOURCES.fullmatch(lowered):
        return None if _VALUE.fullmatch(value) else "its value has characters other than letters, digits and . _ - + *"
    if _CREDENTIALS.fullmatch(lowered):
        return "credentials and settings of filesystems are never stored in the catalog"
    if _CODE.fullmatch(lowered):
        return "it can run code on the machine of a reader"
    return "it is no setting of resources, such as spark.executor.memory"
