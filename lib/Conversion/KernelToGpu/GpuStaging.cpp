//===- GpuStaging.cpp - Operands of products in workgroup memory ----------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See GpuStaging.h.
#include "GpuStaging.h"

#include "GpuEmitter.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using heddle::kernel::BoundView;

namespace heddle {

GpuStaging::GpuStaging(GpuEmitter &emitter, const BoundView &from, Layout to, int64_t runs,
                       int64_t quads, function_ref<Value(Value)> startOf)
    : e(emitter), view(from), layout(to) {
  const int64_t invocations = e.placement.ty * e.placement.tx, all = runs * quads;
  auto quotient = [&](Value x, bool rest) -> Value {
    if (rest)
      return e.builder.createOrFold<arith::RemUIOp>(e.loc, x, e.constant(quads));
    return e.builder.createOrFold<arith::DivUIOp>(e.loc, x, e.constant(quads));
  };
  for (int64_t first = 0; first < all; first += invocations) {
    Value number = e.add(e.entry.invocation(), e.constant(first));
    if (first + invocations > all) // the last quad is copied by several
      number = e.minimum(number, e.constant(all - 1));
    Value run = runs > 1 ? quotient(number, false) : e.constant(0),
          place = runs > 1 ? quotient(number, true) : number;
    sources.push_back(e.add(startOf(run), place));
    if (layout.crosswise) {
      lanes.push_back(arith::AndIOp::create(e.builder, e.loc, run, e.constant(kQuad - 1)));
      places.push_back(e.add(e.mul(place, kQuad * layout.pitch), e.quarter(run)));
    } else {
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
    if (!layout.crosswise) {
      e.workgroup.write(layout.array, e.vec4Type(), layout.entries, place, quad);
      continue;
    }
    for (int64_t word = 0; word < kQuad; ++word)
      e.workgroup.write(layout.array, e.vec4Type(), layout.entries,
                        e.add(place, e.constant(word * layout.pitch)),
                        vector::ExtractOp::create(e.builder, e.loc, quad, word), lanes[number]);
  }
}

} // namespace heddle
