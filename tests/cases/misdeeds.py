"""What agents start and leave behind. `misdeeds.py KIND TOKEN` says `ready`, and stays.

Nothing of it lives longer than a minute, whoever forgets it, or is more than some dozens. The
token on the command line is how a test finds what hides from everybody else.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable

LIFE_S = 60.0
HOP_S, HOPPING_S = 0.001, 20.0
HOPPERS, HEADS, SWARM = 4, 8, 40
BEGUN = time.monotonic()


def main() -> None:
    """Do what the command line says."""
    KINDS[sys.argv[1]]()


def stay() -> None:
    """Be there."""
    os.write(1, b"ready\n")
    live()


def live() -> None:
    """Be there, silently."""
    while time.monotonic() < BEGUN + LIFE_S:
        time.sleep(1)


def leave() -> None:
    """Let somebody else go on."""
    if os.fork():
        os._exit(0)


def stubborn() -> None:
    """Ignore whatever can be ignored."""
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGPIPE):
        signal.signal(number, signal.SIG_IGN)
    stay()


def double_fork() -> None:
    """Have no parent."""
    leave()
    stay()


def setsid() -> None:
    """Be in a session of one's own."""
    os.setsid()
    stay()


def daemon() -> None:
    """Do everything that a daemon does, but keep the environment."""
    leave()
    os.setsid()
    leave()
    stay()


def scrubbed() -> None:
    """Be in a session of one's own, without the environment."""
    os.setsid()
    become("stay")


def scrubbed_daemon() -> None:
    """Do everything that a daemon does, without the environment."""
    leave()
    os.setsid()
    leave()
    become("stay")


def become(kind: str) -> None:
    """Go on with an empty environment."""
    os.execve(sys.executable, [sys.executable, "-S", __file__, kind, sys.argv[2]], {})


def tree() -> None:
    """Start three, of which each starts three, of which each starts three."""
    for depth in range(3):
        for _ in range(3):
            if os.fork() == 0:
                if depth == 1:
                    os.setsid()
                break
        else:
            break
    stay()


def hoppers() -> None:
    """Be somebody else every moment, with another pid in another session."""
    for _ in range(HOPPERS):
        if os.fork() == 0:
            break
    os.write(1, b"ready\n")
    while time.monotonic() < BEGUN + HOPPING_S:
        if os.fork():
            os._exit(0)
        os.setsid()
        time.sleep(HOP_S)


def swarm() -> None:
    """Be so many others, and so fast, that nobody who only looks can keep up."""
    for _ in range(SWARM):
        if os.fork() == 0:
            break
    os.write(1, b"ready\n")
    while time.monotonic() < BEGUN + HOPPING_S:
        if os.fork():
            os._exit(0)
        os.setsid()
        # Faster than anybody looks, and slow enough for whoever buries them: the dead of a
        # whole second at full speed would leave no process id for anybody on this machine.
        time.sleep(10 * HOP_S)


def hydra() -> None:
    """Grow two heads for each that is cut off, twice."""
    heads(HEADS)
    os.write(1, b"ready\n")
    parent = os.getppid()
    for _ in range(2):
        while os.getppid() == parent and time.monotonic() < BEGUN + LIFE_S:
            time.sleep(HOP_S)
        parent = os.getppid()
        heads(2)
    live()


def heads(count: int) -> None:
    """Start so many, each like this one."""
    for _ in range(count):
        if os.fork() == 0:
            return


KINDS: dict[str, Callable[[], None]] = {
    "stay": stay,
    "stubborn": stubborn,
    "double-fork": double_fork,
    "setsid": setsid,
    "daemon": daemon,
    "scrubbed": scrubbed,
    "scrubbed-daemon": scrubbed_daemon,
    "tree": tree,
    "hoppers": hoppers,
    "swarm": swarm,
    "hydra": hydra,
}

if __name__ == "__main__":
    main()
