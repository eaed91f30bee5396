//===- Diagnostics.cpp - Collection of MLIR diagnostics -------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Collection of diagnostics. MLIR's pass manager delivers diagnostics of parallel passes in the
// order of the ops, so the first one is equal in every run.

#include "Diagnostics.h"

#include "heddle/Analysis/ModelParts.h"
#include "heddle/Compiler/Models.h"

#include "mlir/IR/Location.h"

#include <algorithm>

using namespace mlir;

namespace heddle {

std::string locationText(Location location) {
  if (auto file = dyn_cast<FileLineColLoc>(location))
    return file.getFilename().str() + ":" + std::to_string(file.getLine()) + ":" +
           std::to_string(file.getColumn());
  if (auto name = dyn_cast<NameLoc>(location)) {
    std::string child = roleOf(location) ? "" : locationText(name.getChildLoc());
    return child.empty() ? name.getName().str() : child;
  }
  if (auto call = dyn_cast<CallSiteLoc>(location))
    return locationText(call.getCallee());
  if (auto fused = dyn_cast<FusedLoc>(location))
    for (Location part : fused.getLocations())
      if (std::string text = locationText(part); !text.empty())
        return text;
  return "";
}

static bool isInFile(Location location) {
  return location
      ->walk([](Location part) {
        return isa<FileLineColLoc>(part) ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

DiagnosticCollector::DiagnosticCollector(MLIRContext &context, std::string name)
    : model(std::move(name)), handler(&context, [this](Diagnostic &diagnostic) {
        std::string place = locationText(diagnostic.getLocation());
        std::string text = diagnostic.str();
        std::replace(text.begin(), text.end(), '\n', ' ');
        std::string line = place.empty() ? text : place + ": " + text;
        std::lock_guard lock(mutex);
        if (diagnostic.getSeverity() == DiagnosticSeverity::Error)
          errorLines.push_back(isInFile(diagnostic.getLocation()) ? line : model + ": " + line);
        else if (diagnostic.getSeverity() == DiagnosticSeverity::Warning)
          warningLines.push_back(line);
        else if (diagnostic.getSeverity() == DiagnosticSeverity::Remark)
          remarkLines.push_back(line);
        return success();
      }) {}

Error DiagnosticCollector::error(Error fallback) const {
  std::lock_guard lock(mutex);
  return errorLines.empty() ? std::move(fallback) : inputError(errorLines.front());
}

} // namespace heddle
