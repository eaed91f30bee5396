//===- MissedFusion.cpp - Why two ops did not become one kernel ----------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Names, explanations and remedies of missed fusions, in one table.

#include "heddle/Analysis/MissedFusion.h"

#include <iterator>

using namespace heddle;

namespace {
struct Entry {
  llvm::StringLiteral name, explanation, remedy;
};
} // namespace

/// Indexed by MissedFusion.
static constexpr Entry entries[] = {
    {"several-uses", "the value is read by several ops, so it has to reach memory",
     "let one op read it, or compute it twice"},
    {"row-reduction", "the reader reduces whole rows, while this kernel holds tiles of columns",
     "none needed on a CPU, where the extra pass costs a few percent; use a pre-norm model to read "
     "it once"},
    {"second-contraction",
     "the reader is a contraction of its own, with weights that would be read again for every tile",
     "none: two contractions in one kernel move more bytes than they save"},
    {"whole-sequences",
     "the reader is attention: each tile of queries reads the keys and values of a whole sequence",
     "none: attention is a kernel of its own, whose scores are never in memory"},
    {"function-result", "the value is a result of the function", "do not return it"},
    {"session-state", "the value is kept in the session's memory and read from there",
     "none: the cache is its place"},
    {"consumer-between", "another op reads one part before the last part can be computed",
     "move the projections next to each other"},
    {"too-many-parts", "a launch runs at most three contractions over the same rows",
     "none: launch overhead is small with three contractions"},
    {"uneven-heads",
     "heads of a size that 4 does not divide are stored padded, and only a projection reads them "
     "so",
     "use a head size that is a multiple of 4, or an output projection"},
    {"rotated-size",
     "the reader rotates features whose number 32 does not divide, so that their halves are no "
     "tiles of the kernel",
     "rotate a multiple of 32 features of each head"},
    {"no-epilogue", "the reader is none of the ops that this kernel can do to its own tiles",
     "none: it is a pass over memory of its own"},
    {"other-reader", "the contractions over the same rows do not feed the same attention or state",
     "none needed"},
};

static const Entry &entry(MissedFusion reason) { return entries[static_cast<int>(reason)]; }

llvm::StringRef heddle::toString(MissedFusion reason) { return entry(reason).name; }
llvm::StringRef heddle::explain(MissedFusion reason) { return entry(reason).explanation; }
llvm::StringRef heddle::remedy(MissedFusion reason) { return entry(reason).remedy; }

std::optional<MissedFusion> heddle::parseMissedFusion(llvm::StringRef text) {
  for (int i = 0; i < static_cast<int>(std::size(entries)); ++i)
    if (entries[i].name == text)
      return static_cast<MissedFusion>(i);
  return std::nullopt;
}
