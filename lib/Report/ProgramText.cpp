//===- ProgramText.cpp - Text of a program --------------------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Plain text of programs, in the order of the program, one item per line.

#include "ProgramText.h"

#include "heddle/Dialect/ElementFormats.h"
#include "heddle/Dialect/Transformer/IR/TransformerOps.h"
#include "heddle/Support/Dims.h"
#include "heddle/Support/Text.h"
#include "heddle/Support/Try.h"

#include "mlir/IR/Threading.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace heddle {

namespace {

std::string defaultText(const DefaultInput &fallback) {
  using Kind = DefaultInput::Kind;
  switch (fallback.kind) {
  case Kind::None:
    return "";
  case Kind::LengthsOf:
    return ", optional, by default the lengths of " + fallback.source;
  case Kind::ZerosOf:
    return ", optional, by default 0";
  case Kind::NoRowsOf:
    return ", optional, by default all rows anew";
  case Kind::RowsBefore:
    return ", kept: the rows of " + fallback.source + " before the call";
  case Kind::RowsAfter:
    return ", kept: the rows of " + fallback.source + " after the call";
  }
  return "";
}

void addPorts(const char *what, const std::vector<Port> &ports, std::string &text) {
  for (const Port &port : ports) {
    text += std::string("    ") + what + " " + port.name + " " + toString(port.type) + " " +
            shapeText(port.shape);
    if (port.range)
      text += ", " + port.range->first.str() + " <= value < " + port.range->second.str();
    text += defaultText(port.fallback);
    text += "\n";
  }
}

std::string megabytes(int64_t bytes) {
  return formatted("%.2f MB", static_cast<double>(bytes) / 1e6);
}

/// Sum of an expression over all items, at `dims`.
template <typename Item>
Expected<int64_t> total(const std::vector<Item> &items, const Dimensions &dims,
                        SizeExpr Item::*member) {
  int64_t sum = 0;
  for (const Item &item : items)
    sum += HEDDLE_TRY((item.*member).evaluate(dims));
  return sum;
}

/// Memory and cost of a function. Memory is the sum of all buffers, although temporaries share
/// memory in a run.
struct Cost {
  int64_t flops = 0, bytes = 0, bufferBytes = 0;
};

Expected<Cost> costOf(const Function &function, const Dimensions &dims) {
  return Cost{HEDDLE_TRY(total(function.launches, dims, &Launch::flops)),
              HEDDLE_TRY(total(function.launches, dims, &Launch::bytes)),
              HEDDLE_TRY(total(function.buffers, dims, &Buffer::elements)) * 4};
}

Expected<std::string> costText(const Function &function, const Dimensions &dims) {
  const Cost cost = HEDDLE_TRY(costOf(function, dims));
  std::string text = "    at";
  for (const auto &[name, value] : dims)
    text += " " + name + "=" + std::to_string(value);
  return text +
         formatted(": %.3f GFLOP, %.2f MB read and written, ",
                   static_cast<double>(cost.flops) / 1e9, static_cast<double>(cost.bytes) / 1e6) +
         megabytes(cost.bufferBytes) + " of buffers before sharing\n";
}

/// Sums by kind: "    buffers: 12 temporary of 0.08 MB, 3 argument of 0.01 MB".
void addBufferSums(const Function &function, const Dimensions &dims, std::string &text) {
  std::string sums;
  const std::vector<std::string> &kinds = enumWords<Buffer::Kind>();
  for (size_t kind = 0; kind < kinds.size(); ++kind) {
    int64_t count = 0, elements = 0;
    for (const Buffer &buffer : function.buffers)
      if (static_cast<size_t>(buffer.kind) == kind) {
        ++count;
        elements += *buffer.elements.evaluate(dims);
      }
    if (count > 0)
      sums += (sums.empty() ? "" : ", ") + std::to_string(count) + " " + kinds[kind] + " of " +
              megabytes(elements * 4);
  }
  text += "    buffers: " + sums + "\n";
}

void addBuffers(const Function &function, const Dimensions &dims, std::string &text) {
  for (const Buffer &buffer : function.buffers) {
    text += "    buffer " + buffer.name + " " + wordOf(buffer.kind) + " " + buffer.elements.str();
    if (Expected<int64_t> value = buffer.elements.evaluate(dims))
      text += buffer.elements.isConstant() ? "" : " = " + std::to_string(*value);
    text += "\n";
  }
}

/// States of sessions; equal ones are listed once: "  2 of i8 [B, 8, P, 64], at most 256 rows:
/// decoder.0.self.key".
void addStates(mlir::ModuleOp fused, std::string &text) {
  struct Kind {
    std::string what, first;
    int count = 0;
  };
  std::vector<Kind> kinds;
  int total = 0;
  for (auto state : fused.getOps<transformer::StateOp>()) {
    Kind kind{toString(dtypeOf(state.getType())), state.getSymName().str()};
    const Shape dims = dimsFromAttr(state.getDims());
    kind.what += " " + shapeText(std::vector<SizeExpr>(dims.begin(), dims.end()));
    if (state.getCapacity())
      kind.what += ", at most " + std::to_string(*state.getCapacity()) + " rows";
    if (state.getWindow())
      kind.what += ", of which a window of " + std::to_string(*state.getWindow()) + " is read";
    auto known = std::ranges::find(kinds, kind.what, &Kind::what);
    ++(known == kinds.end() ? kinds.emplace_back(std::move(kind)) : *known).count;
    ++total;
  }
  if (total > 0)
    text += "states " + std::to_string(total) + "\n";
  for (const Kind &kind : kinds)
    text += "  " + std::to_string(kind.count) + " of " + kind.what + ": " + kind.first +
            (kind.count > 1 ? ", …\n" : "\n");
}

/// Number of launches of a kernel in all functions.
int64_t usesOf(const Kernel &kernel, const Program &program) {
  int64_t uses = 0;
  for (const Function &function : program.functions)
    uses += std::ranges::count(function.launches, kernel.name, &Launch::kernel);
  return uses;
}

void addKernels(const Program &program, std::string &text) {
  text += "kernels " + std::to_string(program.kernels.size()) + "\n";
  for (const Kernel &kernel : program.kernels) {
    const int64_t uses = usesOf(kernel, program);
    text += "  " + kernel.name + ": " + std::to_string(kernel.arguments.size()) + " arguments, " +
            std::to_string(uses) + (uses == 1 ? " launch\n" : " launches\n");
  }
}

nlohmann::ordered_json portsJson(const std::vector<Port> &ports) {
  auto list = nlohmann::ordered_json::array();
  for (const Port &port : ports) {
    auto shape = nlohmann::ordered_json::array();
    for (const SizeExpr &size : port.shape)
      if (auto number = size.evaluate({}); number && size.isConstant())
        shape.push_back(*number);
      else
        shape.push_back(size.str());
    list.push_back({{"name", port.name},
                    {"type", toString(port.type)},
                    {"shape", std::move(shape)},
                    {"optional", port.fallback.kind != DefaultInput::Kind::None}});
  }
  return list;
}

} // namespace

bool allKnown(const Function &function, const Dimensions &dims) {
  for (const auto *names : {&function.dims, &function.stateDims})
    for (const std::string &name : *names)
      if (!dims.contains(name))
        return false;
  return true;
}

static Expected<std::string> functionText(mlir::ModuleOp fused, const Function &function,
                                          const Dimensions &dims, bool all) {
  std::string text = "function " + function.name + ": " + std::to_string(function.launches.size()) +
                     " launches" + (function.needsSession ? ", needs a session\n" : "\n");
  addPorts("input", function.inputs, text);
  addPorts("output", function.outputs, text);
  if (!dims.empty() && allKnown(function, dims)) {
    std::string cost = HEDDLE_TRY(costText(function, dims)); // fails for bad sizes, before the sums
    (all ? addBuffers : addBufferSums)(function, dims, text);
    text += cost;
  }
  if (auto body = fused.lookupSymbol<mlir::func::FuncOp>(function.name))
    text += HEDDLE_TRY(layerText(body, function, dims, all));
  return text;
}

Expected<std::string> programText(mlir::ModuleOp fused, const Program &program,
                                  const Dimensions &dims, bool all) {
  std::vector<Expected<std::string>> functions(program.functions.size(), std::string());
  mlir::parallelFor(fused.getContext(), 0, functions.size(), [&](size_t i) {
    functions[i] = functionText(fused, program.functions[i], dims, all);
  });
  std::string text;
  for (Expected<std::string> &function : functions)
    text += HEDDLE_TRY(std::move(function));
  int64_t parameters = 0, tensors = 0;
  for (const PackEntry &entry : program.pack) {
    if (entry.layout == PackEntry::Layout::Scales) // derived from a tensor that is counted
      continue;
    int64_t count = 1;
    for (int64_t size : entry.shape)
      count *= size;
    parameters += count;
    ++tensors;
  }
  text += "parameters " + std::to_string(parameters) + " in " + std::to_string(tensors) +
          " tensors, " + megabytes(program.weightBytes) + " packed\n";
  addStates(fused, text);
  addKernels(program, text);
  return text;
}

Status addProgramJson(const Program &program, const Dimensions &dims,
                      nlohmann::ordered_json &report) {
  using Json = nlohmann::ordered_json;
  Json functions = Json::array(), kernels = Json::array();
  for (const Function &function : program.functions) {
    Json one{{"name", function.name},
             {"launches", function.launches.size()},
             {"session", function.needsSession},
             {"inputs", portsJson(function.inputs)},
             {"outputs", portsJson(function.outputs)}};
    if (!dims.empty() && allKnown(function, dims)) {
      const Cost cost = HEDDLE_TRY(costOf(function, dims));
      one["flops"] = cost.flops;
      one["bytes"] = cost.bytes;
      one["buffer_bytes"] = cost.bufferBytes;
    }
    functions.push_back(std::move(one));
  }
  for (const Kernel &kernel : program.kernels)
    kernels.push_back({{"name", kernel.name}, {"launches", usesOf(kernel, program)}});
  report["packed_bytes"] = program.weightBytes;
  report["functions"] = std::move(functions);
  report["kernels"] = std::move(kernels);
  return {};
}

} // namespace heddle
