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

GpuStaging::GpuStaging(GpuEmitter &emitter, const BoundView &from, Layout to, int64_t runs,
                       int64_t quads, function_ref<Value(Value)> startOf)
    : e(emitter), view(from), layout(to) {
  const int64_t invocations = e.placement.ty * e.placement.tx, all = runs * quads;
  auto quotient = [&](Value x, bool rest) -> Value {
    if (rest)
      return e.builder.createOrFold<arith::RemUIOp>(e.loc, x, e.constant(quads));
    return e.builder.createOrFold<arith::DivUIOp>(e.loc, x, e.constant(quads));
  };
  const int64_t words = layout.widens ? 2 * kVec4 : kVec4; // staged words of a row's vec4
  for (int64_t first = 0; first < all; first += invocations) {
    Value number = e.add(e.entry.invocation(), e.constant(first));
    if (first + invocations > all) // several invocations copy the last vec4
      number = e.minimum(number, e.constant(all - 1));
    Value run = runs > 1 ? quotient(number, false) : e.constant(0),
          place = runs > 1 ? quotient(number, true) : number;
    sources.push_back(e.add(startOf(run), place));
    if (layout.crosswise) {
      lanes.push_back(arith::AndIOp::create(e.builder, e.loc, run, e.constant(kVec4 - 1)));
      places.push_back(e.add(e.mul(place, words * layout.pitch), e.memory.quarter(run)));
    } else {
      if (layout.widens) // the features of a word are two lines of a panel
        place = e.add(place, arith::AndIOp::create(e.builder, e.loc, place, e.constant(-kLine)));
      places.push_back(e.add(e.mul(run, layout.pitch), place));
    }
  }
}

void GpuStaging::fetch(Value offset, SmallVectorImpl<Value> &loaded) {
  for (Value source : sources)
    loaded.push_back(spirv::LoadOp::create(e.builder, e.loc,
                                           e.entry.vec4(view.argument, e.add(source, offset))));
}

void GpuStaging::store(ArrayRef<Value> &loaded) {
  for (auto [number, place] : llvm::enumerate(places)) {
    Value quad = loaded.front();
    loaded = loaded.drop_front();
    SmallVector<Value> parts{quad};
    if (layout.widens) {
      auto [even, odd] = e.halvesOf(e.asWords(quad));
      parts = {even, odd};
    }
    auto write = [&](int64_t behind, Value value, Value lane = {}) {
      e.workgroup.write(layout.array, e.vec4Type(), layout.entries,
                        e.add(place, e.constant(behind)), value, lane);
    };
    for (auto [part, values] : llvm::enumerate(parts)) {
      if (!layout.crosswise)
        write(part * kLine, values);
      for (int64_t word = 0; layout.crosswise && word < kVec4; ++word)
        write((word * parts.size() + part) * layout.pitch,
              vector::ExtractOp::create(e.builder, e.loc, values, word), lanes[number]);
    }
  }
}

} // namespace heddle
