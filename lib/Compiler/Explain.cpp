//===- Explain.cpp - What became of each op -------------------------------===//
//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads decisions off the fused module: an op's kernel is the launch that its
// group became, its partners are the other ops of the group, refusals stand on
// the group as the grouping pass left them.
//
//===----------------------------------------------------------------------===//

#include "Explain.h"

#include "Compilation.h"
#include "Diagnostics.h"
#include "heddle/Analysis/FusionRefusal.h"
#include "heddle/Compiler/RegisterAll.h"
#include "heddle/Dialect/Kernel/IR/KernelOps.h"
#include "heddle/Support/Artifact.h"
#include "heddle/Support/Svg.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/StringMap.h"

#include <algorithm>

using namespace mlir;

namespace heddle {

namespace {

std::string entryText(DictionaryAttr entry, StringRef key) {
  auto value = entry.getAs<StringAttr>(key);
  return value ? value.getValue().str() : "";
}

/// The refusals of a group that concern ops named `op`, in the order in which the ops stand.
std::vector<OpDecision::Refusal> refusalsOf(kernel::GroupOp group, StringRef op) {
  std::vector<OpDecision::Refusal> refusals;
  auto entries = group->getAttrOfType<ArrayAttr>("refusals");
  if (!entries)
    return refusals;
  for (auto entry : entries.getAsRange<DictionaryAttr>()) {
    std::optional<FusionRefusal> reason = parseFusionRefusal(entryText(entry, "reason"));
    if (reason && entryText(entry, "op") == op)
      refusals.push_back({toString(*reason).str(), entryText(entry, "with"), explain(*reason).str(),
                          remedy(*reason).str()});
  }
  return refusals;
}

/// Ops of a group that are decisions of their own: constants belong to their users.
std::vector<Operation *> opsOf(kernel::GroupOp group) {
  std::vector<Operation *> ops;
  for (Operation &op : group.getBody().front().without_terminator())
    if (!op.hasTrait<OpTrait::ConstantLike>())
      ops.push_back(&op);
  return ops;
}

void addGroup(const std::string &function, kernel::GroupOp group, const std::string &kernel,
              Explanation &explanation) {
  std::vector<Operation *> ops = opsOf(group);
  llvm::StringMap<size_t>
      seen; // ops of one name take the refusals of that name in turn, the last one what is left
  llvm::StringMap<size_t> count;
  for (Operation *op : ops)
    ++count[op->getName().getStringRef()];
  for (Operation *op : ops) {
    OpDecision decision;
    decision.function = function;
    decision.op = op->getName().getStringRef().str();
    decision.location = locationText(op->getLoc());
    decision.kernel = kernel;
    decision.group = group.getName().str();
    decision.root = group.getRoot().str();
    for (Operation *other : ops)
      if (other != op)
        decision.partners.push_back(other->getName().getStringRef().str());
    std::vector<OpDecision::Refusal> refusals = refusalsOf(group, decision.op);
    size_t index = seen[decision.op]++, end = index + 1 == count[decision.op]
                                                  ? refusals.size()
                                                  : std::min(index + 1, refusals.size());
    for (; index < end; ++index)
      if (!llvm::is_contained(decision.refusals, refusals[index]))
        decision.refusals.push_back(refusals[index]);
    explanation.push_back(std::move(decision));
  }
}

/// Names by comma, each once, with its count where there are several.
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

std::string refusalText(const OpDecision::Refusal &refusal) {
  return refusal.reason + " (" + refusal.with + "): " + refusal.text;
}

} // namespace

Status onFusedStage(const std::string &path,
                    llvm::function_ref<Status(ModuleOp, const Artifact &)> ask) {
  Expected<Artifact> artifact = readArtifact(path);
  if (!artifact)
    return artifact.takeError();
  DialectRegistry registry;
  registerAllDialects(registry);
  MLIRContext context(registry);
  DiagnosticCollector diagnostics(context, path);
  auto bytes = artifact->fused();
  auto fused = parseSourceString<ModuleOp>(
      StringRef(reinterpret_cast<const char *>(bytes.data()), bytes.size()),
      ParserConfig(&context));
  if (!fused)
    return diagnostics.error(inputError(path + ": the fused stage cannot be read"));
  return ask(*fused, *artifact);
}

Status onModel(const std::string &model, const CompileOptions &options,
               llvm::function_ref<Status(ModuleOp)> ask) {
  if (isArtifactPath(model)) {
    if (Status status = checkCompiled(model, options); !status)
      return status;
    return onFusedStage(model, [&](ModuleOp fused, const Artifact &) { return ask(fused); });
  }
  CompileOptions withoutWeights = options;
  withoutWeights.needsWeights = false;
  auto compilation = Compilation::load(model, withoutWeights);
  if (!compilation)
    return compilation.takeError();
  return ask((*compilation)->module());
}

Explanation explainGroups(ModuleOp fused, const LaunchNames &launches) {
  Explanation explanation;
  for (auto func : fused.getOps<func::FuncOp>()) {
    std::string name = func.getSymName().str();
    auto kernels = launches.find(name);
    size_t index = 0;
    for (auto group : func.getOps<kernel::GroupOp>()) {
      bool known = kernels != launches.end() && index < kernels->second.size();
      addGroup(name, group, known ? kernels->second[index] : group.getName().str(), explanation);
      ++index;
    }
  }
  return explanation;
}

std::string explanationText(const Explanation &explanation) {
  std::string text, function;
  for (const OpDecision &decision : explanation) {
    if (decision.function != function)
      text += (text.empty() ? "" : "\n") + decision.function + "\n";
    function = decision.function;
    text += "  " + decision.op + (decision.location.empty() ? "" : " (" + decision.location + ")") +
            "\n";
    text += "    kernel " + decision.kernel + ", root " + decision.root + ", with " +
            joined(decision.partners, "nothing else") + "\n";
    for (const OpDecision::Refusal &refusal : decision.refusals)
      text += "    not fused: " + refusalText(refusal) + "\n    remedy: " + refusal.remedy + "\n";
  }
  return text;
}

std::string explanationHtml(const Explanation &explanation, const std::string &title) {
  std::string page =
      "<table>\n<tr><th>function</th><th>op</th><th>at</th><th>kernel</th><th>root</th>"
      "<th>partners</th><th>not fused, and what would have to change</th></tr>\n";
  for (const OpDecision &decision : explanation) {
    std::string refusals;
    for (const OpDecision::Refusal &refusal : decision.refusals)
      refusals += escapedHtml(refusalText(refusal)) + "<br>" + escapedHtml(refusal.remedy) + "<br>";
    page += "<tr>";
    for (const std::string &cell : {decision.function, decision.op, decision.location,
                                    decision.kernel, decision.root, joined(decision.partners, "")})
      page += "<td>" + escapedHtml(cell) + "</td>";
    page += "<td>" + refusals + "</td></tr>\n";
  }
  return htmlPage(title,
                  "<style>table{border-collapse:collapse}td,th{border:1px solid #bbb;padding:4px "
                  "8px;text-align:left;vertical-align:top}</style>\n",
                  page + "</table>\n");
}

} // namespace heddle
