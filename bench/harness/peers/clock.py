# Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Seconds of a peer's calls. No package needed."""
import time


def timed(call, calls):
    start = time.perf_counter()
    for _ in range(calls):
        call()
    return (time.perf_counter() - start) / calls


class Refilled:
    """A call that lengthens caches: `refill` makes them as long as they were, before the first call and each `every` calls.
    No clock runs then, nor for the next call, which may move what it was given to where there is room."""

    def __init__(self, call, refill, every):
        self.call, self.refill, self.every = call, refill, every

    def __call__(self):
        self.refill()
        self.call()

    def timed(self, calls):
        """Seconds of a call."""
        whole, most = 0, self.every - 1
        for first in range(0, calls, most):
            self()
            some = min(most, calls - first)
            whole += timed(self.call, some) * some
        return whole / calls
