//===- ModelParts.cpp - Parts and layers of a model -----------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "heddle/Analysis/ModelParts.h"

#include "mlir/IR/Operation.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace heddle {

/// First name in a location; null if there is no name.
static LocationAttr firstName(Location location) {
  LocationAttr found;
  location->walk([&](Location inner) {
    if (!isa<NameLoc>(inner))
      return WalkResult::advance();
    found = inner;
    return WalkResult::interrupt();
  });
  return found;
}

StringAttr partOf(Location location) {
  LocationAttr name = firstName(location);
  return name ? cast<NameLoc>(name).getName() : StringAttr();
}

StringAttr roleOf(Location location) {
  LocationAttr name = firstName(location);
  auto role = name ? dyn_cast<NameLoc>(cast<NameLoc>(name).getChildLoc()) : NameLoc();
  return role ? role.getName() : StringAttr();
}

Location named(StringAttr part, StringAttr role) {
  return role ? NameLoc::get(part, NameLoc::get(role)) : NameLoc::get(part);
}

StringRef partOf(Operation *op) {
  StringAttr part = partOf(op->getLoc());
  return part ? part.getValue() : "";
}

StringRef layerOf(StringRef part) {
  for (size_t dot = part.find('.'); dot != StringRef::npos;) {
    size_t end = std::min(part.find('.', dot + 1), part.size());
    if (llvm::all_of(part.slice(dot + 1, end), llvm::isDigit))
      return part.take_front(end);
    dot = part.find('.', dot + 1);
  }
  return part;
}

std::optional<std::pair<StringRef, int64_t>> numbered(StringRef layer) {
  auto [name, digits] = layer.rsplit('.');
  int64_t number = 0;
  if (digits.empty() || digits.getAsInteger(10, number))
    return std::nullopt;
  return std::pair(name, number);
}

} // namespace heddle
