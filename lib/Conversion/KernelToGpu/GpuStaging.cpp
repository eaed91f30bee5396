//===- GpuStaging.cpp - Operands of products in workgroup memory ----------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See GpuStaging.h.
#include "GpuStaging.h"

#include "GpuEmitter.h"

using namespace mlir;
using heddle::kernel::BoundView;

namespace heddle {

GpuStaging::GpuStaging(GpuEmitter &emitter, const BoundView &from, SharedArray to, int64_t runs,
                       int64_t quads, int64_t pitch, function_ref<Value(Value)> startOf)
    : e(emitter), view(from), array(to), entries(runs * pitch) {
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
    places.push_back(e.add(e.mul(run, pitch), place));
  }
}

void GpuStaging::fetch(Value offset, SmallVectorImpl<Value> &loaded) {
  for (Value source : sources)
    loaded.push_back(spirv::LoadOp::create(
        e.builder, e.loc, e.entry.vec4(view.argument, e.add(source, offset))));
}

void GpuStaging::store(ArrayRef<Value> &loaded) {
  for (Value place : places) {
    e.workgroup.write(array, e.vec4Type(), entries, place, loaded.front());
    loaded = loaded.drop_front();
  }
}

} // namespace heddle
