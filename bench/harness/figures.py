# Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The statistics of every table: medians over rounds, ratios inside a round. No package needed."""


def quantile(values, at):
    """The value at share `at` of the sorted values, between neighbours by their distance."""
    ordered = sorted(values)
    place = at * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


def median(values):
    return quantile(values, 0.5)


def ratio(numerators, denominators):
    """Median of the rounds' own ratios: what the machine does to one round, it does to both sides."""
    return median([n / d for n, d in zip(numerators, denominators)])


def spread(values):
    """How far the middle 90 % of the rounds lie apart, as a share of their median."""
    return (quantile(values, 0.95) - quantile(values, 0.05)) / median(values)


class Result:
    """One row on one number of threads: seconds of each contender and the rates, one number a round each."""

    def __init__(self, row, threads):
        self.row = row
        self.threads = threads
        self.seconds = {}  # contender -> seconds a round
        self.errors = {}  # contender -> max |a - b| / max |b| against f64
        self.kernels = {}  # contender -> what it runs
        self.notes = {}  # contender -> why there is no figure
        self.rates = {}  # "f32", …, "read" -> operations or bytes a second, a round
        self.instructions = {}  # "f32", … -> the instruction whose rate it is
        self.units = {}  # "int8", … -> a matrix unit that is faster, whose rate is not measured
        self.first = {}  # contender -> the round in which it came, where that is not the first
        self.facts = {}  # other numbers: compile seconds, bytes in memory

    @property
    def name(self):
        return f"{self.row.name}.t{self.threads}"

    def peers(self):
        """Peers with a figure and a right result, the fastest first."""
        timed = [c for c in self.seconds if not c.startswith("heddle") and c != "beside" and c not in self.notes]
        return sorted(timed, key=lambda c: median(self.seconds[c]))

    def begin(self, names):
        """For contenders that are new, the next round is the first."""
        past = max(map(len, self.rates.values()), default=0)
        self.first |= {name: past for name in names if past and name not in self.seconds}

    def speedup(self, peer):
        """How many times the peer's time Heddle's is in a round, the median."""
        return ratio(self.seconds[peer], self.seconds["heddle"][self.first.get(peer, 0):])

    def share(self, contender, rate):
        """The contender's rate over the machine's, round by round."""
        work = self.row.bytes if rate == "read" else self.row.flops
        return median([work / s / r for s, r in zip(self.seconds[contender], self.rates[rate][self.first.get(contender, 0):])])

    def to_json(self):
        return {key: getattr(self, key) for key in ("threads", "seconds", "errors", "kernels", "notes", "rates", "instructions", "units", "first", "facts")} | {"row": self.row.name}
