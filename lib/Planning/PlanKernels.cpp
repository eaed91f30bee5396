//===- PlanKernels.cpp - Pass plan-kernels --------------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "heddle/Planning/Passes.h"
#include "heddle/Planning/Planner.h"
#include "heddle/Target/GpuTarget.h"

namespace heddle {
#define GEN_PASS_DEF_PLANKERNELS
#include "heddle/Planning/Passes.h.inc"
} // namespace heddle

using namespace mlir;
using namespace heddle;

namespace {
struct PlanKernels : heddle::impl::PlanKernelsBase<PlanKernels> {
  using PlanKernelsBase::PlanKernelsBase;

  void runOnOperation() override {
    const GpuTarget *gpu = nullptr;
    if (target == "vulkan") {
      gpu = findGpuTarget(level, getOperation(), "plan-kernels");
      if (!gpu)
        return signalPassFailure();
    } else if (target != "cpu") {
      getOperation().emitError() << "plan-kernels: expected target to be cpu or vulkan, found '"
                                 << target.getValue() << "'";
      return signalPassFailure();
    }
    for (auto def : getOperation().getOps<kernel::DefOp>())
      if (failed(plan(def, gpu)))
        return signalPassFailure();
  }

  static LogicalResult plan(kernel::DefOp def, const GpuTarget *gpu) {
    FailureOr<KernelPlans> plans = planKernel(def, gpu);
    if (failed(plans))
      return failure();
    SmallVector<Attribute> list{plans->kernel.plan};
    for (const KernelPlan *form : {&plans->fewRows, &plans->rounding})
      if (form->plan)
        list.push_back(form->plan);
    def.setPlansAttr(ArrayAttr::get(def.getContext(), list));
    return success();
  }
};
} // namespace
