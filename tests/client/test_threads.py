"""The client in many threads at once."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import sys, threading, msgspec
from dragoman.client.decode import decode

sys.setswitchinterval(1e-6)
for number in range(100):
    names = [(f"field{n}", "int | None", None) for n in range(12)]
    inner = msgspec.defstruct(f"Inner{number}", names)
    outer = msgspec.defstruct(f"Outer{number}", [("one", inner), ("all", list[inner])])
    barrier = threading.Barrier(6)

    def work():
        barrier.wait()
        assert decode(b'{"one":{"field1":1},"all":[{}]}', outer).one.field1 == 1

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
"""


def test_threads_that_decode_a_type_for_the_first_time_at_once_do_not_crash() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, timeout=60)
    assert done.returncode == 0, done.stderr
