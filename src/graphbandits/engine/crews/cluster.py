"""A cluster."""


class Cluster:
    """To come."""

    def __init__(self, address: str, count: int) -> None: ...
