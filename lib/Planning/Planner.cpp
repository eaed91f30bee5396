//===- Planner.cpp - Plans of kernel definitions --------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Plans.h"
#include "ProductRows.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::planning;
using kernel::Root;

static FailureOr<KernelPlans> single(FailureOr<KernelPlan> plan) {
  if (failed(plan))
    return failure();
  return KernelPlans{*std::move(plan), {}, {}};
}

FailureOr<KernelPlans> heddle::planKernel(kernel::DefOp def, const GpuTarget *gpu) {
  std::optional<Root> root = def.getRoot();
  if (!root)
    return def.emitOpError("expected a root, found none");
  if (!def.getScalars())
    return def.emitOpError("expected scalars and layouts, found none; run outline-kernels first");
  if (Status known = checkPlanRows(); !known)
    return def.emitOpError(known.error().message);
  const DefinitionViews views(def);
  const Question question{views, gpu, gpu ? gpu->tiles : cpuTiles};
  switch (*root) {
  case Root::Linear:
    return planLinear(question);
  case Root::HeadProducts:
    return single(planHeadProducts(question));
  case Root::Attention:
    return single(planAttention(question));
  case Root::Weights:
    return single(planWeights(question));
  case Root::QueryGradient:
  case Root::KeyGradient:
    return single(planAttentionGradient(question));
  case Root::Transpose:
  case Root::GradientProduct:
  case Root::GradientColumns:
  case Root::GradientRows:
  case Root::GradientJoin:
  case Root::GradientNorm:
  case Root::Update:
    return single(planGradient(question, *root));
  default:
    return single(planRows(question, *root));
  }
}
