//===- KernelOps.h - The kernel dialect -*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The kernel dialect with its types, attributes and ops.
#pragma once

#include "heddle/Dialect/Kernel/IR/KernelInterfaces.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#define GET_OP_CLASSES
#include "heddle/Dialect/Kernel/IR/KernelOps.h.inc"
#define GET_OP_CLASSES
#include "heddle/Dialect/Kernel/IR/ProgramOps.h.inc"
