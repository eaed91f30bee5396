//===- Explain.cpp - Fusion decisions of the compiler ---------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads decisions from the fused module. An op's kernel is its group's launch, its partners are the
// other ops of the group, and missed fusions are an attribute of the group, written by the grouping
// pass.

#include "heddle/Report/Explain.h"

#include "Layers.h"
#include "heddle/Analysis/MissedFusion.h"
#include "heddle/Compiler/Models.h"
#include "heddle/Dialect/Kernel/IR/KernelOps.h"
#include "heddle/Support/Program.h"
#include "heddle/Support/Svg.h"
#include "heddle/Support/Try.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringMap.h"

#include <algorithm>

using namespace mlir;

namespace heddle {

namespace {

std::string entryText(DictionaryAttr entry, StringRef key) {
  auto value = entry.getAs<StringAttr>(key);
  return value ? value.getValue().str() : "";
}

/// Missed fusions of a group's ops named `op`, in the order of these ops.
std::vector<OpDecision::Missed> missedOf(kernel::GroupOp group, StringRef op) {
  std::vector<OpDecision::Missed> missed;
  auto entries = group->getAttrOfType<ArrayAttr>("missed_fusions");
  if (!entries)
    return missed;
  for (auto entry : entries.getAsRange<DictionaryAttr>()) {
    std::optional<MissedFusion> reason = parseMissedFusion(entryText(entry, "reason"));
    if (reason && entryText(entry, "op") == op)
      missed.push_back({toString(*reason).str(), entryText(entry, "with"), explain(*reason).str(),
                        remedy(*reason).str()});
  }
  return missed;
}

/// Ops of a group without constants, which belong to their users.
std::vector<Operation *> opsOf(kernel::GroupOp group) {
  std::vector<Operation *> ops;
  for (Operation &op : group.getBody().front().without_terminator())
    if (!op.hasTrait<OpTrait::ConstantLike>())
      ops.push_back(&op);
  return ops;
}

/// Appends the decisions about a group's ops; `context` has function, layer and kernel.
void addGroup(kernel::GroupOp group, const OpDecision &context, Explanation &explanation) {
  std::vector<Operation *> ops = opsOf(group);
  // Ops with equal names take the missed fusions of their name in turn; the last op takes the rest.
  llvm::StringMap<size_t> seen;
  llvm::StringMap<size_t> count;
  for (Operation *op : ops)
    ++count[op->getName().getStringRef()];
  for (Operation *op : ops) {
    OpDecision decision = context;
    decision.op = op->getName().getStringRef().str();
    decision.location = locationText(op->getLoc());
    decision.group = group.getName().str();
    decision.root = stringifyRoot(group.getRoot()).str();
    for (Operation *other : ops)
      if (other != op)
        decision.partners.push_back(other->getName().getStringRef().str());
    std::vector<OpDecision::Missed> missed = missedOf(group, decision.op);
    size_t index = seen[decision.op]++, end = index + 1 == count[decision.op]
                                                  ? missed.size()
                                                  : std::min(index + 1, missed.size());
    for (; index < end; ++index)
      if (!llvm::is_contained(decision.missed, missed[index]))
        decision.missed.push_back(missed[index]);
    explanation.decisions.push_back(std::move(decision));
  }
}

/// Names separated by commas, each once, with its count if it is above 1; `nothing` for an empty
/// list.
std::string joined(const std::vector<std::string> &words, const char *nothing) {
  std::string text;
  for (auto word = words.begin(); word != words.end(); ++word) {
    if (std::find(words.begin(), word, *word) != word)
      continue;
    auto times = std::count(words.begin(), words.end(), *word);
    text += (text.empty() ? "" : ", ") + (times > 1 ? std::to_string(times) + " " : "") + *word;
  }
  return text.empty() ? nothing : text;
}

std::string missedText(const OpDecision::Missed &missed) {
  return missed.reason + " (" + missed.with + "): " + missed.text;
}

} // namespace

/// Decisions of all groups. Groups and launches of a function have the same order, one launch per
/// group.
Explanation explainGroups(ModuleOp fused, const LaunchNames &launches) {
  Explanation explanation;
  for (auto func : fused.getOps<func::FuncOp>()) {
    std::string name = func.getSymName().str();
    auto kernels = launches.find(name);
    for (auto [index, entry] : llvm::enumerate(layersOf(func))) {
      auto &[group, layer] = entry;
      OpDecision context;
      context.function = name;
      context.layer = layer;
      bool known = kernels != launches.end() && index < kernels->second.size();
      context.kernel = known ? kernels->second[index] : group.getName().str();
      addGroup(group, context, explanation);
    }
  }
  return explanation;
}

Expected<Explanation> explainModel(const std::string &model, const CompileOptions &options) {
  OpenedModel opened = HEDDLE_TRY(OpenedModel::plan(model, options));
  LaunchNames launches;
  for (const Function &function : opened.program().functions)
    for (const Launch &launch : function.launches)
      launches[function.name].push_back(launch.kernel);
  Explanation explanation = explainGroups(opened.module(), launches);
  explanation.reads = weightReads(opened.module(), opened.program());
  return explanation;
}

/// Whether two ops have equal decisions and equal locations relative to their layers.
static bool alike(const OpDecision &a, const OpDecision &b) {
  auto within = [](StringRef part) { return part.drop_front(layerOf(part).size()); };
  return a.function == b.function && a.op == b.op && a.kernel == b.kernel &&
         a.partners == b.partners && a.missed == b.missed &&
         within(a.location) == within(b.location);
}

/// Text of all decisions. A layer that repeats another one is replaced by a line from `repeat`.
static std::string eachLayerOnce(const Explanation &explanation, bool all,
                                 llvm::function_ref<std::string(const OpDecision &)> text,
                                 llvm::function_ref<std::string(const std::string &)> repeat) {
  std::vector<std::string> layers;
  const std::vector<OpDecision> &decisions = explanation.decisions;
  for (const OpDecision &decision : decisions)
    layers.push_back(decision.layer);
  return eachLayerOnce(
      layers, [&](size_t a, size_t b) { return !all && alike(decisions[a], decisions[b]); },
      [&](size_t item) { return text(decisions[item]); }, repeat);
}

std::string explanationText(const Explanation &explanation, bool all) {
  std::string function;
  auto opText = [&](const OpDecision &decision) {
    std::string text;
    if (decision.function != function)
      text += (function.empty() ? "" : "\n") + decision.function + "\n";
    function = decision.function;
    text += "  " + decision.op + (decision.location.empty() ? "" : " (" + decision.location + ")") +
            "\n";
    text += "    kernel " + decision.kernel + ", root " + decision.root + ", with " +
            joined(decision.partners, "nothing else") + "\n";
    for (const OpDecision::Missed &missed : decision.missed)
      text += "    not fused: " + missedText(missed) + "\n    remedy: " + missed.remedy + "\n";
    return text;
  };
  std::string decisions = eachLayerOnce(
      explanation, all, opText, [](const std::string &layers) { return "  " + layers + "\n"; });
  return decisions + (explanation.reads.empty() ? "" : "\n") + weightReadsText(explanation.reads);
}

std::string explanationHtml(const Explanation &explanation, const std::string &title, bool all) {
  auto row = [](const OpDecision &decision) {
    std::string reasons, cells;
    for (const OpDecision::Missed &missed : decision.missed)
      reasons += escapedHtml(missedText(missed)) + "<br>" + escapedHtml(missed.remedy) + "<br>";
    for (const std::string &cell : {decision.function, decision.op, decision.location,
                                    decision.kernel, decision.root, joined(decision.partners, "")})
      cells += "<td>" + escapedHtml(cell) + "</td>";
    return "<tr>" + cells + "<td>" + reasons + "</td></tr>\n";
  };
  auto repeated = [](const std::string &layers) {
    return "<tr class=\"as\"><td></td><td colspan=\"6\">" + escapedHtml(layers) + "</td></tr>\n";
  };
  constexpr const char *page =
#include "Decisions.html.inc"
      ;
  return htmlPage(page, title, eachLayerOnce(explanation, all, row, repeated));
}

} // namespace heddle
