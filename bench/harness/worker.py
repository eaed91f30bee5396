# Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A contender as a process: one JSON request a line, one answer a line; stopped while others are timed.

A process of its own for each keeps thread pools, allocators and crashes apart; SIGSTOP keeps the threads that a
library leaves spinning after a call out of the others' figures.
"""
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


class WorkerError(Exception):
    """What a contender answered instead of a value."""


class Worker:
    def __init__(self, command, threads, log, environment=None):
        self.log = open(log, "a", encoding="utf-8")
        # Libraries read their number of threads when they load.
        names = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
        variables = {**os.environ, **{name: str(threads) for name in names}, "PYTHONPATH": str(ROOT), **(environment or {})}
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log, text=True, env=variables)
        self.running = True

    @staticmethod
    def heddle(path, threads, log, environment=None):
        return Worker([str(path)], threads, log, environment)

    @staticmethod
    def peer(module, threads, log):
        return Worker([sys.executable, "-m", f"harness.peers.{module}", str(threads)], threads, log)

    def ask(self, **request):
        """The answer to a request; the process runs from here on until `stop`."""
        if not self.running:
            self.process.send_signal(signal.SIGCONT)
            self.running = True
        try:
            self.process.stdin.write(json.dumps(request) + "\n")
            self.process.stdin.flush()
            line = self.process.stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            raise WorkerError(f"the process ended ({self.log.name})")
        answer = json.loads(line)
        if "error" in answer:
            raise WorkerError(answer["error"])
        return answer

    def stop(self):
        if self.running and self.process.poll() is None:
            self.process.send_signal(signal.SIGSTOP)
            self.running = False

    def close(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGCONT)
            self.process.stdin.close()
            try:
                self.process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        self.log.close()
