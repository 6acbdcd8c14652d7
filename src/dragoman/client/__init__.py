"""The Python client of the daemon. It sees `schema` and `errors`, nothing else of the house."""

from dragoman.client.calls import Page
from dragoman.client.events import Unmodelled, encode_event
from dragoman.client.failures import BadAnswer, Unreachable
from dragoman.client.locate import Address, locate
from dragoman.client.resume import Retry
from dragoman.client.sync import Client

__all__ = [
    "Address",
    "BadAnswer",
    "Client",
    "Page",
    "Retry",
    "Unmodelled",
    "Unreachable",
    "encode_event",
    "locate",
]
