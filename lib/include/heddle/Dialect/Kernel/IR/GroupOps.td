//===- GroupOps.td - Groups and kernels over tensors -------*- tablegen -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ops before tiling: groups, the regions of stage `fused` that become one
// kernel each, and the distinct kernels among them (stage `program`). Bodies on
// tiles are in KernelOps.td.

#ifndef HEDDLE_DIALECT_KERNEL_IR_GROUPOPS_TD
#define HEDDLE_DIALECT_KERNEL_IR_GROUPOPS_TD

include "heddle/Dialect/Kernel/IR/KernelAttrs.td"
include "heddle/Dialect/Kernel/IR/KernelDialect.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/FunctionInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Kernel_GroupOp : Kernel_Op<"group", [IsolatedFromAbove, SingleBlock]> {
  let summary = "a group of ops that become one kernel";
  let description = [{
    The region computes on tensors, and its arguments are the operands. `root` is the kind of
    kernel. `name` helps readers and becomes part of the kernel's name.

    C1: the region's arguments have the operands' types. C2: the region ends in a `kernel.yield` of
    the results' types.

    Example:
    ```mlir
    %y = kernel.group(%x, %b) "bias" {root = #kernel.root<elementwise>} : (tensor<?x16xf32>, tensor<?x16xf32>) -> tensor<?x16xf32> {
    ^bb0(%a: tensor<?x16xf32>, %c: tensor<?x16xf32>):
      %s = arith.addf %a, %c : tensor<?x16xf32>
      kernel.yield %s : tensor<?x16xf32>
    }
    ```
  }];
  let arguments = (ins Variadic<AnyType>:$inputs, Kernel_RootAttr:$root, StrAttr:$name);
  let results = (outs Variadic<AnyType>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "`(` $inputs `)` $name attr-dict `:` functional-type($inputs, $results) $body";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Whether the group only copies the keys of packed documents (argument 0) to panels, which
    /// restart at each document. Argument 1 holds the starts of the documents.
    bool packsDocuments();
  }];
}

def Kernel_DefOp : Kernel_Op<"def", [IsolatedFromAbove, SingleBlock, FunctionOpInterface]> {
  let summary = "a kernel over tensors, before tiling";
  let description = [{
    A kernel that launches refer to by name. Equal groups share one definition. Outlined definitions
    have `scalars`, the names of the numbers that a launch passes, and the attribute `kernel.layout`
    (`#kernel.layout`) on each argument and result.

    `plans` is added by `plan-kernels` for a target. It holds the plan of the kernel and the plans of
    its other forms: if the kernel has a form for launches with few rows, the plan of this form, and
    if the first plan is `rounded`, the plan of the kernel that rounds its rows.

    C1: the region ends in a `kernel.yield` of the results' types. C2: if `scalars` is present, each
    argument and result has a layout over these scalars. C3: `plans`, if present, has one to
    three plans, each with a `tile`.

    Example:
    ```mlir
    kernel.def @bias(%a: tensor<?x16xf32>, %c: tensor<?x16xf32>) -> tensor<?x16xf32> attributes {root = #kernel.root<elementwise>} {
      %s = arith.addf %a, %c : tensor<?x16xf32>
      kernel.yield %s : tensor<?x16xf32>
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, TypeAttrOf<FunctionType>:$function_type, OptionalAttr<Kernel_RootAttr>:$root,
                       OptionalAttr<StrArrayAttr>:$scalars, OptionalAttr<TypedArrayAttrBase<Kernel_PlanAttr, "plans of the kernel and of its other forms">>:$plans,
                       OptionalAttr<DictArrayAttr>:$arg_attrs, OptionalAttr<DictArrayAttr>:$res_attrs);
  let regions = (region SizedRegion<1>:$body);
  let skipDefaultBuilders = 1;
  let builders = [OpBuilder<(ins "::llvm::StringRef":$name, "::mlir::FunctionType":$type, CArg<"::heddle::kernel::RootAttr", "{}">:$root)>];
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Types of arguments and results, required by FunctionOpInterface.
    ::llvm::ArrayRef<::mlir::Type> getArgumentTypes() { return getFunctionType().getInputs(); }
    ::llvm::ArrayRef<::mlir::Type> getResultTypes() { return getFunctionType().getResults(); }
    ::mlir::Region *getCallableRegion() { return &getBody(); }
    /// Whether the kernel only copies the keys of packed documents (argument 0) to panels, which
    /// restart at each document. Argument 1 holds the starts of the documents.
    bool packsDocuments();
    /// Layouts of arguments and results; C2 requires them if `scalars` is present.
    LayoutAttr getArgLayout(unsigned index) { return getArgAttrOfType<LayoutAttr>(index, LayoutAttr::name); }
    LayoutAttr getResultLayout(unsigned index) { return getResultAttrOfType<LayoutAttr>(index, LayoutAttr::name); }
  }];
}

def Kernel_YieldOp : Kernel_Op<"yield", [Pure, Terminator, ReturnLike, ParentOneOf<["GroupOp", "DefOp"]>]> {
  let summary = "the results of a group or kernel";
  let description = [{
    Example:
    ```mlir
    kernel.yield %s : tensor<?x16xf32>
    ```
  }];
  let arguments = (ins Variadic<AnyType>:$operands);
  let builders = [OpBuilder<(ins), [{ build($_builder, $_state, ::mlir::ValueRange()); }]>];
  let assemblyFormat = "($operands^ `:` type($operands))? attr-dict";
}

#endif // HEDDLE_DIALECT_KERNEL_IR_GROUPOPS_TD
