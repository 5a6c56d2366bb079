"""A decision of an agent."""

from __future__ import annotations

from copy import deepcopy
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

# a client of a service has decisions, and imports no kernels
if TYPE_CHECKING:
    from graphbandits._types import Floats, Ints
    from graphbandits.posteriors import Arm


class Decision:
    """A decision of an agent: the arm to play, and the arms that may be observed.

    :meth:`Agent.decide` and :meth:`Agent.decision` create it. ``pi`` and ``reveals`` are created
    when they are first used, because there may be a million arms.

    Parameters
    ----------
    arms : tuple of str or int
        Names of the arms.
    body : dict
        The entry of the decision in the journal.
    number : int
        Number of the decision.
    time : float
        Time of the decision, in seconds since 1970.
    pi : bytes or None
        Packed probabilities of the arms.
    reach : tuple of ndarray
        Numbers of the arms that may be observed, and their probabilities.

    Attributes
    ----------
    id : str
        Id of the decision. No other decision, of this agent or of another one, has the same id.
    number : int
        Number of the decision of this agent, from 1.
    arm : str or int
        Arm to play.
    probability : float or None
        Probability of this arm in ``pi``; None if the policy draws the arm itself.
    time : datetime
        Time of the decision (UTC).
    expires : datetime or None
        Time at which the decision expires.
    context : object
        The context that was given to :meth:`Agent.decide`; None without one.

    Examples
    --------
    >>> from graphbandits import Agent
    >>> decision = Agent("ids-n", ["ann", "bob", "eve"], "star", seed=1).decide(context={"day": 3})
    >>> decision.arm, decision.pi, decision.reveals, decision.context
    ('ann', {'ann': 1.0}, {'ann': 1.0, 'bob': 1.0, 'eve': 1.0}, {'day': 3})
    """

    __slots__ = (
        "_arms",
        "_expires",
        "_pi",
        "_pi_data",
        "_reach",
        "_reveals",
        "_time",
        "arm",
        "context",
        "id",
        "number",
        "probability",
    )

    def __init__(
        self,
        arms: tuple[Arm, ...],
        body: dict[str, Any],
        number: int,
        time: float,
        pi: bytes | None,
        reach: tuple[Ints, Floats],
    ) -> None:
        self.id: str = body["id"]
        self.number = number
        self.arm = arms[body["arm"]]
        self.probability: float | None = body["p"]
        context = body.get("context")
        self.context = None if context is None else deepcopy(context)  # the journal has its own
        self._arms, self._time, self._expires = arms, time, body.get("expires")
        self._pi_data, self._reach = pi, reach
        self._pi: dict[Arm, float] | None = None
        self._reveals: dict[Arm, float] | None = None

    @property
    def time(self) -> datetime:
        """Time of the decision (UTC)."""
        return datetime.fromtimestamp(self._time, UTC)

    @property
    def expires(self) -> datetime | None:
        """Time at which the decision expires; None if it does not."""
        return None if self._expires is None else datetime.fromtimestamp(self._expires, UTC)

    @property
    def pi(self) -> dict[Arm, float] | None:
        """Probability of each arm that could be drawn; None if the policy draws the arm itself."""
        if self._pi is None and self._pi_data is not None:
            from graphbandits.live._packing import unpack_sparse

            self._pi = self._by_arm(*unpack_sparse(self._pi_data))
        return self._pi

    @property
    def reveals(self) -> dict[Arm, float]:
        """Probability of observation of each arm that may be observed."""
        if self._reveals is None:
            self._reveals = self._by_arm(*self._reach)
        return self._reveals

    def _by_arm(self, index: Ints, values: Floats) -> dict[Arm, float]:
        arms = self._arms
        return {arms[i]: value for i, value in zip(index.tolist(), values.tolist(), strict=True)}

    def to_dict(self) -> dict[str, Any]:
        """Return the decision as JSON values; the keys of mappings are the names as strings.

        Returns
        -------
        dict
            The attributes.
        """
        pi = self.pi
        return {
            "id": self.id,
            "number": self.number,
            "arm": self.arm,
            "probability": self.probability,
            "pi": None if pi is None else {str(arm): p for arm, p in pi.items()},
            "reveals": {str(arm): p for arm, p in self.reveals.items()},
            "time": self.time.isoformat(),
            "expires": None if self.expires is None else self.expires.isoformat(),
            "context": self.context,
        }

    def __repr__(self) -> str:
        return f"Decision(id={self.id!r}, arm={self.arm!r}, probability={self.probability!r})"
