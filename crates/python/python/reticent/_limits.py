"""Limits of what a device accepts, for anything that a server publishes."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """Epsilon, delta and number of all reports of a period together, at most, and seconds of a period, at least."""

    most_epsilon: float
    most_delta: float
    most_reports: int
    shortest_period: int
