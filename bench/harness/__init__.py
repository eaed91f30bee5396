# Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Heddle beside its peers, in one run. bench/run is the command; what needs no peer (figures, matrix, gates, report) needs no package either."""
