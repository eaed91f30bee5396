# Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The loop of a peer's process: the same requests that Heddle's worker answers."""
import json
import os
import sys
import traceback
from pathlib import Path

import numpy

from . import memory
from .clock import Refilled, timed


class NotHere(Exception):
    """The peer has no form of this row."""


class Server:
    """`peer` has open(row, folder) -> (call, result, kernel) and empty() -> a call that computes next to nothing. A peer whose work is in
    another process has memory() too."""

    def __init__(self, peer):
        self.peer = peer
        self.rows = {}
        self.cost = None
        self.begin = 0  # resident bytes before the row

    def open(self, request):
        self.begin = memory.resident()
        call, result, kernel = self.peer.open(request, Path(request["folder"]))
        self.rows = {request["row"]: (call, result)}
        call()
        if self.cost is None:
            empty = self.peer.empty()
            timed(empty, 50)
            self.cost = min(timed(empty, 20) for _ in range(15))  # more would be taken off than a call costs
        return {"device": kernel() if callable(kernel) else kernel, "empty": self.cost}

    def time(self, request):
        call, calls = self.rows[request["row"]][0], request["calls"]
        return {"seconds": call.timed(calls) if isinstance(call, Refilled) else timed(call, calls)}

    def result(self, request):
        call, result = self.rows[request["row"]]
        call()
        numpy.save(Path(request["folder"]) / f"{request['output']}.npy", numpy.asarray(result(), numpy.float32))
        return {}

    def memory(self, request):
        """Peak of resident memory above what the process held before the row."""
        return {"bytes": self.peer.memory() if hasattr(self.peer, "memory") else memory.peak() - self.begin}

    def close(self, request):
        self.rows = {}
        return {}

    def answer(self, request):
        try:
            return getattr(self, request["do"])(request)
        except NotHere as reason:
            return {"error": f"not offered: {reason}"}
        except Exception as error:  # a peer that fails is a line, not the end of the run
            traceback.print_exc()
            return {"error": f"{type(error).__name__}: {str(error).strip().splitlines()[0] if str(error).strip() else ''}"[:200]}


def serve(make):
    answer_all(lambda: Server(make(int(sys.argv[1]))))


def answer_all(make):
    # Libraries print to standard output; it belongs to the answers.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    server = make()
    for line in sys.stdin:
        answers.write(json.dumps(server.answer(json.loads(line))) + "\n")
        answers.flush()
