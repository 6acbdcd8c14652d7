"""Ends this process as another one ended."""

from __future__ import annotations

import os
import signal
from typing import NoReturn

from dragoman.testing.recordings.transcript import Ending

_FIXED = (signal.SIGKILL, signal.SIGSTOP)


def leave(ending: Ending) -> NoReturn:
    """Exit with the same code, or die of the same signal. Nothing is flushed, nobody waited for."""
    if ending.signal is not None:
        if ending.signal not in _FIXED:
            signal.signal(ending.signal, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {ending.signal})
        os.kill(os.getpid(), ending.signal)
    os._exit(ending.code or 0)
