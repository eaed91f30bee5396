//===- Matrix.cpp - Products with weights by matrix units -----------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The mappings `matrix` and `matrix_few_rows`: subgroups multiply matrices (GpuMatrices.h).
// With many rows, the invocations of a subgroup cover a block of the tile that is four
// invocations wide. With few rows, they are placed as in other mappings.

#include "GpuMapping.h"

#include "../GpuEmitter.h"
#include "../GpuMatrices.h"

using namespace mlir;

namespace heddle {

void SubgroupMapping::placeInvocation() {
  e.subgroup = e.entry.subgroup();
  e.lane = e.entry.lane();
  e.number = e.add(e.mul(e.subgroup, e.placement.subgroup), e.lane);
  placeNumber();
}

namespace {
class Matrix : public SubgroupMapping {
public:
  using SubgroupMapping::SubgroupMapping;
  LogicalResult emitProduct(kernel::ProductOpInterface op) override;

protected:
  void placeNumber() override;
};
} // namespace

void Matrix::placeNumber() {
  if (e.placement.rows == 1)
    return GpuMapping::placeNumber();
  auto quotient = [&](Value x, int64_t by) -> Value {
    return builder.createOrFold<arith::DivUIOp>(e.loc, x, e.constant(by));
  };
  auto remainder = [&](Value x, int64_t by) -> Value {
    return builder.createOrFold<arith::RemUIOp>(e.loc, x, e.constant(by));
  };
  constexpr int64_t lanes = GpuMatrices::lanesAcross;
  const int64_t across = e.placement.tx / lanes, down = e.placement.subgroup / lanes;
  e.tx = e.add(e.mul(remainder(e.subgroup, across), lanes), remainder(e.lane, lanes));
  e.ty = e.add(e.mul(quotient(e.subgroup, across), down), quotient(e.lane, lanes));
}

LogicalResult Matrix::emitProduct(kernel::ProductOpInterface op) {
  if (e.fragments.contains(op->getResult(0))) // computed together with another product
    return success();
  if (!isMatrixProduct(op))
    return emitByStrategy(op);
  GpuMatrices matrices(e, op);
  for (auto [product, sums] : llvm::zip(matrices.ops(), matrices.run()))
    e.fragments[product->getResult(0)] = std::move(sums);
  return success();
}

std::unique_ptr<GpuMapping> makeMatrix(GpuEmitter &emitter) {
  return std::make_unique<Matrix>(emitter);
}

} // namespace heddle
