//===- FunctionBuilder.h - Writing one function of a model -----*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Inputs are added when they are first used, weights are registered by name,
// results are named: what the functions of a model have in common.
#pragma once

#include "heddle/Dialect/Transformer/IR/TransformerOps.h"
#include "heddle/Pack/WeightSource.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringMap.h"

namespace heddle {

/// The tensors of a model, each once, in order of first use.
class TensorNames {
public:
  explicit TensorNames(std::vector<TensorInfo> &list) : list(list) {}
  void add(const std::string &name, llvm::ArrayRef<int64_t> shape) {
    if (known.try_emplace(name, true).second)
      list.push_back({name, "f32", {shape.begin(), shape.end()}});
  }

private:
  std::vector<TensorInfo> &list;
  llvm::StringMap<bool> known;
};

struct NormDescription;

class FunctionBuilder {
public:
  /// `sequenceFirst`: callers give and get activations with their first two dimensions transposed.
  FunctionBuilder(mlir::ModuleOp module, TensorNames &names, llvm::StringRef name,
                  bool sequenceFirst);

  /// Adds to a function that stands already, in front of `place`; its arguments are inputs.
  FunctionBuilder(mlir::func::FuncOp func, TensorNames &names, mlir::Operation *place);

  mlir::OpBuilder b;
  mlir::Location loc;

  /// -1 stands for a dynamic size.
  mlir::RankedTensorType tensor(llvm::ArrayRef<int64_t> shape, mlir::Type element = {});
  /// The argument `name`, added if it is new. Dimensions are names or numbers.
  mlir::Value input(const std::string &name, mlir::RankedTensorType type,
                    llvm::ArrayRef<std::string> dims);
  /// The same with sizes as `dims` say: numbers are static.
  mlir::Value input(const std::string &name, mlir::Type element, llvm::ArrayRef<std::string> dims);
  /// Rows of the stacks: a caller of a sequence-first model gives them so, unless `asBuilt`.
  mlir::Value rows(const std::string &name, mlir::RankedTensorType type,
                   llvm::ArrayRef<std::string> dims, bool asBuilt = false);
  /// The argument that is a number, if `name` is one.
  mlir::Value number(const std::string &name);
  /// A table of flags of rank 4; callers give the dimensions of `port`.
  mlir::Value flags(const std::string &name, llvm::ArrayRef<std::string> dims,
                    llvm::ArrayRef<std::string> port);
  /// Callers give and get the input with these dimensions.
  void seenAs(const std::string &name, llvm::ArrayRef<std::string> port);
  /// The argument `name`, of which callers may give 1 in place of each of the sizes `full`, and
  /// leave leading dimensions out.
  mlir::Value broadcastInput(const std::string &name, mlir::Type element,
                             llvm::ArrayRef<std::string> dims, llvm::ArrayRef<std::string> full);
  void range(const std::string &name, const std::string &low, const std::string &high);
  /// Makes an input optional: `rule` is a word of `transformer.default`; `padding` counts for lengths.
  void setDefault(const std::string &name, llvm::StringRef rule, const std::string &source,
                  int64_t padding = 0);

  mlir::Value weight(const std::string &name, llvm::ArrayRef<int64_t> shape);
  /// A tensor that the checkpoint holds under the shape `stored`, as a matrix of `rows` rows.
  mlir::Value matrix(const std::string &name, llvm::ArrayRef<int64_t> stored, int64_t rows);
  mlir::Value linear(mlir::Value x, mlir::Value weight, mlir::Value bias = {},
                     transformer::Activation activation = transformer::Activation::None);
  /// The same where the result scores classes.
  mlir::Value scores(mlir::Value x, mlir::Value weight, mlir::Value bias,
                     transformer::Activation activation);
  mlir::Value linear(mlir::Value x, const std::string &prefix, int64_t out, int64_t in, bool bias,
                     transformer::Activation activation);
  /// With the tensors PREFIX.weight and, of a layer norm, PREFIX.bias.
  /// Of several `heads` each has weights of its own, stored one after another.
  mlir::Value norm(mlir::Value x, const std::string &prefix, int64_t size,
                   const NormDescription &norm, int64_t heads = 1);
  mlir::Value add(mlir::Value x, mlir::Value y);
  mlir::Value integer(int64_t value);
  /// Tokens of each sequence in the caches, before and after the call.
  mlir::Value rowsBefore() { return cachedRows("target.before", "rows_before"); }
  mlir::Value rowsAfter() { return cachedRows("target.after", "rows_after"); }
  mlir::Value state(const std::string &name, mlir::RankedTensorType type);
  void setState(const std::string &name, mlir::Value value);
  /// Appends rows, of each sequence as many as `counts` says, by default all; the result is the
  /// whole cache.
  mlir::Value append(const std::string &name, mlir::Value rows, mlir::Value counts);

  /// Ops built while it lives are located at this part of the model; `role`: what they make there,
  /// "keys" or "values".
  class Part {
  public:
    Part(FunctionBuilder &f, const std::string &name, llvm::StringRef role = "")
        : f(f), outer(f.loc) {
      mlir::StringAttr part = f.b.getStringAttr(name);
      f.loc = role.empty() ? mlir::NameLoc::get(part)
                           : mlir::NameLoc::get(part, mlir::NameLoc::get(f.b.getStringAttr(role)));
    }
    ~Part() { f.loc = outer; }

  private:
    FunctionBuilder &f;
    mlir::Location outer;
  };

  void result(const std::string &name, mlir::Value value, llvm::ArrayRef<std::string> dims) {
    results.push_back({name, value, {dims.begin(), dims.end()}, false});
  }
  /// The same of what the function is called for, before all others.
  void firstResult(const std::string &name, mlir::Value value, llvm::ArrayRef<std::string> dims) {
    results.insert(results.begin(), {name, value, {dims.begin(), dims.end()}, dims.size() > 2});
  }
  /// Writes the return; inputs used with two types are an error of `file`.
  Status finish(const std::string &file);
  /// That error, if there is one.
  Status inputsAgree(const std::string &file) const;

private:
  mlir::Value cachedRows(const std::string &name, llvm::StringRef rule);
  unsigned indexOf(const std::string &name) const { return arguments.lookup(name); }
  mlir::ArrayAttr attrs(llvm::ArrayRef<std::string> dims);
  /// The first two dimensions the other way round.
  mlir::ArrayAttr transposed(llvm::ArrayRef<std::string> dims);

  TensorNames &names;
  mlir::func::FuncOp func;
  llvm::StringMap<unsigned> arguments;
  struct Result {
    std::string name;
    mlir::Value value;
    std::vector<std::string> dims;
    bool isRows = false;
  };
  std::vector<Result> results;
  bool sequenceFirst = false;
  unsigned foreign = 0; ///< arguments that were not made here: their sizes are their own
  std::string conflict;
};

} // namespace heddle
