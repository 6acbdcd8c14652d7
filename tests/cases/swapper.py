"""Swaps two entries of a folder without end, as one who waits for the moment between two looks.

`python swapper.py FOLDER ONE OTHER [ONE OTHER …]`: each pair changes places, again and again,
until stdin is closed. Only the standard library, so that it starts fast.
"""

from __future__ import annotations

import ctypes
import os
import select
import sys

EXCHANGE = 2
ROUNDS = 1000


def main() -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    folder = os.open(sys.argv[1], os.O_PATH)
    names = [os.fsencode(name) for name in sys.argv[2:]]
    pairs = list(zip(names[::2], names[1::2], strict=True))
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    while not select.select([sys.stdin], [], [], 0)[0]:
        for _ in range(ROUNDS):
            for one, other in pairs:
                libc.renameat2(folder, one, folder, other, EXCHANGE)


if __name__ == "__main__":
    main()
