"""The Python client of the daemon. It sees `schema` and `errors`, nothing else."""

from dragoman.client.calls import EventPage
from dragoman.client.events import UnknownData, encode_event
from dragoman.client.failures import BadAnswer, Unreachable
from dragoman.client.locate import Address, locate
from dragoman.client.resume import Retry
from dragoman.client.sync import Client

__all__ = [
    "Address",
    "BadAnswer",
    "Client",
    "EventPage",
    "Retry",
    "UnknownData",
    "Unreachable",
    "encode_event",
    "locate",
]
