//===- GpuStaging.cpp - Operands of products in workgroup memory ----------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "GpuStaging.h"

#include "GpuEmitter.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using heddle::kernel::BoundView;

namespace heddle {

/// Number of vec4s with one word, or one f32 feature, of all columns of a panel.
static constexpr int64_t kLine = 16 / kVec4;

GpuStaging::GpuStaging(GpuEmitter &emitter, const BoundView &from, Layout to, Runs runs,
                       function_ref<Value(Value)> startOf)
    : e(emitter), view(from), layout(to), rate(runs.rate) {
  const int64_t invocations = e.placement.ty * e.placement.tx, all = runs.count * runs.vec4s;
  auto quotient = [&](Value x, bool rest) -> Value {
    if (rest)
      return e.builder.createOrFold<arith::RemUIOp>(e.loc, x, e.constant(runs.vec4s));
    return e.builder.createOrFold<arith::DivUIOp>(e.loc, x, e.constant(runs.vec4s));
  };
  const int64_t words = layout.widens ? 2 * kVec4 : kVec4; // staged words of a row's vec4
  for (int64_t first = 0; first < all; first += invocations) {
    Value number = e.add(e.entry.invocation(), e.constant(first));
    if (first + invocations > all) // several invocations copy the last vec4
      number = e.minimum(number, e.constant(all - 1));
    Value run = runs.count > 1 ? quotient(number, false) : e.constant(0),
          place = runs.count > 1 ? quotient(number, true) : number;
    sources.push_back(e.add(startOf(run), place));
    if (layout.crosswise) {
      lanes.push_back(e.masked(run, kVec4 - 1));
      places.push_back(e.add(e.mul(place, words * layout.pitch), e.memory.quarter(run)));
    } else {
      if (layout.widens) // the features of a word are two lines of a panel
        place = e.add(place, e.masked(place, -kLine));
      places.push_back(e.add(e.mul(run, layout.pitch), place));
    }
  }
}

void GpuStaging::fetchStep(Value step, SmallVectorImpl<Value> &loaded) {
  Value offset = e.mul(step, rate.elements);
  if (rate.perVec4 > 1)
    offset = e.builder.createOrFold<arith::ShRUIOp>(e.loc, offset,
                                                    e.constant(llvm::Log2_64(rate.perVec4)));
  for (Value source : sources)
    loaded.push_back(e.load(e.entry.vec4(view.argument, e.add(source, offset))));
}

void GpuStaging::store(ArrayRef<Value> &loaded) {
  SmallVector<Value> vec4s(loaded.take_front(places.size()));
  loaded = loaded.drop_front(places.size());
  if (layout.makesSigned)
    for (Value &vec4 : vec4s)
      vec4 = e.words.signedBytes(vec4);
  for (auto [number, place, vec4] : llvm::enumerate(places, vec4s)) {
    SmallVector<Value> parts{vec4};
    if (layout.widens) {
      auto [even, odd] = e.halvesOf(e.asWords(vec4));
      parts = {even, odd};
    }
    auto write = [&, place = place](int64_t offset, Value value, Value lane = {}) {
      e.workgroup.write(layout.array, e.vec4Type(), layout.entries,
                        e.add(place, e.constant(offset)), value, lane);
    };
    for (auto [part, values] : llvm::enumerate(parts)) {
      if (!layout.crosswise)
        write(part * kLine, values);
      for (int64_t word = 0; layout.crosswise && word < kVec4; ++word)
        write((word * parts.size() + part) * layout.pitch, e.extract(values, word), lanes[number]);
    }
  }
}

} // namespace heddle
