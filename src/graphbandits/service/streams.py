"""Server-sent events: new entries of the journal of an agent, as they come."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from typing import Any

from anyio import CapacityLimiter, to_thread

from graphbandits._io import json_text
from graphbandits.errors import GraphBanditsError, StoreError
from graphbandits.live import Agent

#: Seconds between two looks at the journal, and after which a silent stream sends a comment.
PAUSE, SILENCE = 0.4, 15.0
#: Most entries that are sent at a time. A client that is further behind misses older ones.
MOST_ENTRIES = 500
#: Threads that look at journals. They are not those of requests, which must not wait for streams.
_THREADS = CapacityLimiter(4)


async def events_of(
    agent: Agent,
    after: int | None,
    is_stopping: Callable[[], bool],
    check: Callable[[], object] = lambda: None,
) -> AsyncIterator[str]:
    """Yield events for new entries until the client leaves or the service stops.

    Parameters
    ----------
    agent : Agent
        The agent.
    after : int or None
        Number of the last entry that the client has; by default the present one.
    is_stopping : callable
        Returns whether the service stops.
    check : callable, optional
        Raises an error as soon as the client may not read any more, which ends the stream.

    Yields
    ------
    str
        An event, or a comment that keeps the connection open.
    """
    known, sent = after, time.monotonic()
    yield "retry: 2000\n\n"
    while not is_stopping():
        try:
            status, entries = await to_thread.run_sync(_news, agent, known, check, limiter=_THREADS)
        except StoreError as error:  # the database is away: the client comes back
            yield _event("away", {"message": str(error)})
            return
        except GraphBanditsError:  # the client comes back, and gets the reason
            return
        if status is not None:
            for entry in entries:
                yield _event("entry", entry, entry["number"])
            yield _event("status", status)
            # entries that were written after these were read come next time
            known = entries[-1]["number"] if entries else status["entries"]
            sent = time.monotonic()
        elif time.monotonic() - sent > SILENCE:
            yield ": ping\n\n"
            sent = time.monotonic()
        await asyncio.sleep(PAUSE)


def _news(
    agent: Agent, known: int | None, check: Callable[[], object]
) -> tuple[dict[str, Any] | None, list[dict[str, Any]]]:
    """Return the new entries, and the status after them; None if there is nothing new."""
    check()
    status = agent.status()
    if known is None or known > status["entries"]:
        return status, []
    if known == status["entries"]:
        return None, []
    entries = agent.history(MOST_ENTRIES, after=known)
    return agent.status(), entries


def _event(name: str, value: Any, number: int | None = None) -> str:
    """Format an event.

    >>> _event("entry", {"kind": "decide"}, 7)
    'event: entry\\nid: 7\\ndata: {"kind": "decide"}\\n\\n'
    """
    id_ = "" if number is None else f"id: {number}\n"
    return f"event: {name}\n{id_}data: {json_text(value, indent=None)}\n\n"
