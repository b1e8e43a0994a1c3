"""Small sets of events that several scenarios use, and the repositories that reports come from."""

from __future__ import annotations

from truth.model import Event


def github(repository: str, number: int, kind: str = "issues") -> str:
    """Returns the address of a report. ``kind`` is ``issues`` or ``pull``."""
    return f"https://github.com/{repository}/{kind}/{number}"


def event(id_: int, at: str, amount: float | None = 10.0, item: str | None = "pen", user: int = 1) -> Event:
    """Returns an event; a time of ``YYYY-MM-DD HH:MM`` has no seconds."""
    return Event(id_, at if len(at) > 16 else f"{at}:00", item, user, amount)


#: Three days with two events each: amounts 10 and 20, 30 and 40, 50 and 60. The sum is 210.
MARCH = (
    event(1, "2024-03-01 08:00", 10.0, "pen", 1),
    event(2, "2024-03-01 20:00", 20.0, "ink", 2),
    event(3, "2024-03-02 08:00", 30.0, "pen", 1),
    event(4, "2024-03-02 20:00", 40.0, "ink", 2),
    event(5, "2024-03-03 08:00", 50.0, "pen", 3),
    event(6, "2024-03-03 20:00", 60.0, "ink", 1),
)
