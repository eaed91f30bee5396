# Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One row on one number of threads: everyone opens it, results are checked, then rounds in which each is timed once."""
import math
import shutil

import numpy

from . import products, rates, sequences, training
from .figures import Result, median
from .formats import FORMATS
from .worker import Worker, WorkerError

BLOCK = 0.010  # seconds that one figure is made of, at least
# Calls before them: threads that were stopped begin on one processor together, and stay so for some milliseconds.
WARM, WARM_THREADS = BLOCK / 4, 3 * BLOCK
LONG = 0.100  # a call of this length needs no other before it
ENOUGH = 5  # rounds for a contender that takes LONG calls at twice the time of the fastest or more: it decides nothing

DEEPER = 2  # times the error of a product, for a whole model in a format that has no error of its own for one
LENIENT = 3  # times that a peer may be off where a type rounds: its quantisation is its own, its error is printed


def tolerance(row, contender):
    """How far a result may be from f64. Quantised encoders lose more than single products."""
    form = FORMATS[row.dtype]
    own = form.error
    if row.kind in ("attend", "layer", "model", "token", "step", "prompt", "products", training.KIND, *sequences.KINDS):
        own = form.deep_error or DEEPER * form.error
    return own if contender in ("heddle", "beside") or row.dtype == "f32" else own * LENIENT


class Contest:
    """The processes of one number of threads; `beside` is another build's worker, or none."""

    def __init__(self, threads, heddle, peers, logs, beside=None):
        self.threads = threads
        self.heddle = Worker.heddle(heddle, threads, logs / f"heddle.t{threads}.log")
        self.beside = Worker.heddle(beside, threads, logs / f"beside.t{threads}.log") if beside else None
        self.modules, self.logs = peers, logs
        self.peers = {name: self.peer(name) for name in peers}
        self.gone = {}  # peers whose process ended, and why

    def peer(self, name):
        return Worker.peer(self.modules[name], self.threads, self.logs / f"{name}.t{self.threads}.log")

    def renew(self, names):
        """New processes, which hold nothing of earlier rows."""
        for name in names:
            self.peers[name].close()
            self.peers[name] = self.peer(name)
            self.gone.pop(name, None)

    def workers(self):
        return [self.heddle, *([self.beside] if self.beside else []), *self.peers.values()]

    def close(self):
        for worker in self.workers():
            worker.close()

    def run(self, row, spec, check, folder, rounds):
        result = Result(row, self.threads)
        request = {"row": row.name, "kind": row.kind, "dtype": row.dtype, "sizes": row.sizes, "threads": self.threads, "folder": str(folder), **spec}
        if row.kind == training.KIND:
            timers = self.open_training(request, result)
        else:
            timers = self.open_heddle("heddle", self.heddle, request, folder, check, result)
        if self.beside and row.kind not in ("products", training.KIND):
            timers |= self.open_heddle("beside", self.beside, request, folder, check, result)
        if row.kind == "products":
            if timers:
                products.measure(self.heddle, row, rounds, result)
            self.quietly(self.heddle, row)
            return result
        for names in self.parties(row):
            if row.renewed:
                self.renew(names)
            met = self.open_peers(names, request, folder, check, result)
            if timers or met:
                self.rounds(row, timers | met, rounds, result)
            for name in met if row.renewed else ():
                self.add_facts(row, name, result)
            for name in names:
                self.quietly(self.peers[name], row)
        for worker in self.workers():
            self.quietly(worker, row)
        if row.renewed:
            self.renew([name for name in self.peers if name in row.peers])
        return result

    def add_facts(self, row, name, result):
        """What a training step is compared by, apart from its time."""
        result.facts["GFLOP"] = row.flops * 1e-9
        result.facts[f"{name} tokens/s"] = training.tokens(row) / median(result.seconds[name])
        result.facts[f"{name} peak GB"] = self.peers[name].ask(do="memory")["bytes"] * 1e-9

    def parties(self, row):
        """Peers that are open at the same time: all, or one after the other; at least one round is of nobody but Heddle."""
        names = [name for name in self.peers if row.peers is None or name in row.peers]
        return [[name] for name in names] if row.alone and names else [names]

    @staticmethod
    def quietly(worker, row):
        try:
            worker.ask(do="close", row=row.name)
        except (WorkerError, OSError):
            pass
        worker.stop()

    #===------------------------------------------------------------------===#
    # Opening
    #===------------------------------------------------------------------===#

    def open_heddle(self, name, worker, request, folder, check, result):
        row = request["row"]
        keys = ("before", "keep", "every")
        caches = {key: request[key] for key in keys if key in request}
        inputs = {name: str(folder / file) for name, file in request["inputs"].items()}
        try:
            model, dtype = folder / request["model"], request["dtype"]
            if request.get("compile"):
                model, dtype = self.compiled(name, worker, model, dtype, folder.parent), ""
            opened = worker.ask(do="open", row=row, model=str(model), dtype=dtype, threads=self.threads, fill=request.get("fill", []),
                                weights=str(folder / request["weights"]) if request["weights"] else "", inputs=inputs)
            asked = {"row": row, "output": request["output"], **{key: request[key] for key in ("function", "decode") if key in request}}
            self.verify(name, worker, {**asked, **caches}, folder, check, result)
        except WorkerError as error:
            result.notes[name] = str(error)
            return {}
        finally:
            worker.stop()
        result.kernels[name] = opened["device"]
        # A product or attention alone is measured by its launches, its inputs and outputs in place, as the peers'
        # are; a model by the whole call.
        alone = result.row.kind in ("gemm", "attention", "decode", "ffn", "attend")

        def timer(part):
            if "decode" in request:
                return lambda calls: worker.ask(do="decode", row=row, calls=calls, **request["decode"])["seconds"]
            return lambda calls: worker.ask(do="time", row=row, function=request["function"], calls=calls, part=part, **caches)["seconds"]

        timers = {name: (worker, timer("launches" if alone else "call"), 0)}
        if name != "heddle":
            return timers
        if alone:
            timers["heddle.call"] = (worker, timer("call"), 0)
        if result.row.kind == "gemm" and FORMATS[result.row.dtype].rows != "F32":  # the launches before it round or quantise
            timers["heddle.product"] = (worker, timer("last"), 0)
        return timers

    def open_training(self, request, result):
        try:
            timer = training.heddle_timer(self.heddle, request)
        except WorkerError as error:
            result.notes["heddle"] = str(error)
            return {}
        finally:
            self.heddle.stop()
        return {"heddle": (self.heddle, timer, 0)}

    @staticmethod
    def compiled(name, worker, model, dtype, work):
        """A model as the file that each build makes of it, which is mapped; one at a time, since they are large."""
        path = work / f"{name}.{model.name}.{dtype}.heddle"
        if not path.exists():
            for other in work.glob(f"{name}.*.heddle"):
                other.unlink()
            worker.ask(do="compile", model=str(model), output=str(path), dtype=dtype, cpu="native")
        return path

    def open_peers(self, names, request, folder, check, result):
        timers = {}
        for name in names:
            worker = self.peers[name]
            if name in self.gone:
                continue
            try:
                opened = worker.ask(do="open", **request)
                self.verify(name, worker, request, folder, check, result)
            except WorkerError as error:
                if "process ended" in str(error):
                    self.gone[name] = str(error)
                if result.row.peers or not str(error).startswith("not offered"):
                    result.notes[name] = str(error)
                worker.stop()
                continue
            worker.stop()
            result.kernels[name] = f"{opened['device']}; an empty call {opened['empty'] * 1e6:.1f} us, taken off"
            timers[name] = (worker, self.timer_of(worker, request["row"]), opened["empty"])
        return timers

    @staticmethod
    def timer_of(worker, row):
        return lambda calls: worker.ask(do="time", row=row, calls=calls)["seconds"]

    def verify(self, name, worker, request, folder, check, result):
        to = folder / name
        shutil.rmtree(to, ignore_errors=True)
        to.mkdir()
        if "decode" in request and name in ("heddle", "beside"):
            worker.ask(do="decode", row=request["row"], folder=str(to), **request["decode"])
        else:
            asked = {key: request[key] for key in ("row", "function", "before", "keep", "output") if key in request}
            worker.ask(do="result", folder=str(to), **asked)
        error = check(numpy.load(to / f"{request['output']}.npy"))
        result.errors[name] = error
        if not error <= tolerance(result.row, name):  # also where it is no number
            result.notes[name] = f"wrong: {error:.1e} from f64, expected at most {tolerance(result.row, name):g}"

    #===------------------------------------------------------------------===#
    # Rounds
    #===------------------------------------------------------------------===#

    def rounds(self, row, timers, rounds, result):
        calls = {name: self.calls_for(worker, timer) for name, (worker, timer, _) in timers.items()}
        names = list(timers)
        result.begin(names)
        for number in range(rounds):
            rates.measure(self.heddle, row, result)
            turn = number % len(names)
            for name in names[turn:] + names[:turn]:  # nobody always follows the same one
                if number >= ENOUGH and self.is_far_behind(name, result):
                    continue
                worker, timer, empty = timers[name]
                count, warm = calls[name]
                if warm:
                    timer(warm)
                whole = timer(count)
                worker.stop()
                result.seconds.setdefault(name, []).append(max(whole - empty, whole / 2))
            rates.measure_again(self.heddle, row, result)

    @staticmethod
    def is_far_behind(name, result):
        own = median(result.seconds[name])
        return own > LONG and not name.startswith("heddle") and own > 2 * min(median(seconds) for seconds in result.seconds.values())

    def calls_for(self, worker, timer):
        once = timer(1)
        if once < LONG:
            once = min(once, timer(3))
        worker.stop()
        count = max(1, min(2000, math.ceil(BLOCK / once)))
        return count, 0 if once > LONG else math.ceil((WARM if self.threads == 1 else WARM_THREADS) / once)
