//===- Plans.cpp - How each kernel runs on each target --------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "heddle/Report/Plans.h"

#include "heddle/Compiler/Models.h"
#include "heddle/Pipelines/Pipelines.h"
#include "heddle/Planning/Planner.h"
#include "heddle/Support/Try.h"
#include "heddle/Target/GpuTarget.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace heddle {

namespace {

struct NamedTarget {
  std::string name;
  const GpuTarget *gpu; ///< null: a CPU
};

Expected<std::vector<NamedTarget>> targetsOf(const CompileOptions &options) {
  std::vector<NamedTarget> targets;
  for (TargetKind kind : HEDDLE_TRY(parseTargets(options.targets))) {
    if (kind == TargetKind::Cpu) {
      targets.push_back({"cpu", nullptr});
      continue;
    }
    for (const GpuTarget *gpu : HEDDLE_TRY(gpuTargetsUpTo(options.vulkanLevel)))
      targets.push_back({"vulkan " + gpu->name(), gpu});
  }
  return targets;
}

/// `mapping = staged, tile = [128, 64], …`.
std::string textOf(kernel::PlanAttr plan) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  stream << plan;
  StringRef all = text;
  all.consume_front("#kernel.plan<");
  all.consume_back(">");
  return all.str();
}

/// Adds a plan to the plans of its definition, which begin at `first`.
void add(std::vector<PlannedKernel> &plans, size_t first, PlannedKernel made) {
  for (PlannedKernel &known : llvm::MutableArrayRef(plans).drop_front(first))
    if (known.form == made.form && known.plan == made.plan && known.reason == made.reason) {
      known.targets.push_back(made.targets.front());
      return;
    }
  plans.push_back(std::move(made));
}

} // namespace

Expected<std::vector<PlannedKernel>> explainPlans(const std::string &model,
                                                  const CompileOptions &options) {
  const std::vector<NamedTarget> targets = HEDDLE_TRY(targetsOf(options));
  OpenedModel opened = HEDDLE_TRY(OpenedModel::plan(model, options));
  OwningOpRef<ModuleOp> module = opened.module().clone();
  if (failed(runTo(*module, Stage::Fused, Stage::Program)))
    return deviceError(model + ": the stage program failed");
  std::vector<PlannedKernel> plans;
  for (auto def : module->getOps<kernel::DefOp>()) {
    const size_t first = plans.size();
    for (const NamedTarget &target : targets) {
      FailureOr<KernelPlans> made = planKernel(def, target.gpu);
      if (failed(made))
        return deviceError(model + ": no plan of kernel " + def.getSymName().str());
      for (const auto &[one, form] : {std::pair(&made->kernel, ""),
                                      {&made->fewRows, "few rows"},
                                      {&made->rounding, "rounding of rows"}})
        if (one->plan)
          add(plans, first,
              {def.getSymName().str(), form, {target.name}, textOf(one->plan), one->reason});
    }
  }
  return plans;
}

std::string plansText(const std::vector<PlannedKernel> &plans) {
  std::string text, kernel;
  for (const PlannedKernel &plan : plans) {
    if (plan.kernel != kernel)
      text += (kernel.empty() ? "" : "\n") + plan.kernel + "\n";
    kernel = plan.kernel;
    text += "  " + llvm::join(plan.targets, ", ") + (plan.form.empty() ? "" : ", " + plan.form) +
            "\n    " + plan.plan + "\n    " + plan.reason + "\n";
  }
  return text;
}

} // namespace heddle
