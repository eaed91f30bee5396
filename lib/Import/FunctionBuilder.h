//===- FunctionBuilder.h - Building one function of a model -----*- C++ -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Shared by all functions of a model: adds inputs at their first use, registers weights by name,
// and names results.
#pragma once

#include "heddle/Dialect/Transformer/IR/TransformerOps.h"
#include "heddle/Pack/WeightSource.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringMap.h"

namespace heddle {

/// The tensors of a model without duplicates, in order of first use.
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

/// Builds one function of the `transformer` dialect.
class FunctionBuilder {
public:
  /// `sequenceFirst`: callers pass and receive activations with the first two dimensions
  /// transposed.
  FunctionBuilder(mlir::ModuleOp module, TensorNames &names, llvm::StringRef name,
                  bool sequenceFirst);

  /// Inserts into an existing function before `place`; its arguments are inputs.
  FunctionBuilder(mlir::func::FuncOp func, TensorNames &names, mlir::Operation *place);

  mlir::OpBuilder b;
  mlir::Location loc;

  /// Type of a tensor; -1 is a dynamic size.
  mlir::RankedTensorType tensor(llvm::ArrayRef<int64_t> shape, mlir::Type element = {});
  /// The argument `name`, added at its first use. Dimensions are names or numbers.
  mlir::Value input(const std::string &name, mlir::RankedTensorType type,
                    llvm::ArrayRef<std::string> dims);
  /// As above, with static sizes where `dims` has numbers.
  mlir::Value input(const std::string &name, mlir::Type element, llvm::ArrayRef<std::string> dims);
  /// Rows of the stacks. A caller of a sequence-first model passes them transposed, unless
  /// `asBuilt`.
  mlir::Value rows(const std::string &name, mlir::RankedTensorType type,
                   llvm::ArrayRef<std::string> dims, bool asBuilt = false);
  /// The scalar argument `name`, or null.
  mlir::Value number(const std::string &name);
  /// A table of flags of rank 4; callers pass it with the dimensions of `port`.
  mlir::Value flags(const std::string &name, llvm::ArrayRef<std::string> dims,
                    llvm::ArrayRef<std::string> port);
  /// Sets the dimensions with which callers see an input.
  void seenAs(const std::string &name, llvm::ArrayRef<std::string> port);
  /// The argument `name`, for which callers may pass 1 for any size in `full` and omit leading
  /// dimensions.
  mlir::Value broadcastInput(const std::string &name, mlir::Type element,
                             llvm::ArrayRef<std::string> dims, llvm::ArrayRef<std::string> full);
  void range(const std::string &name, const std::string &low, const std::string &high);
  /// Makes an input optional. `rule` is a word of `transformer.default`; `padding` is the id that
  /// lengths ignore.
  void setDefault(const std::string &name, llvm::StringRef rule, const std::string &source,
                  int64_t padding = 0);

  mlir::Value weight(const std::string &name, llvm::ArrayRef<int64_t> shape);
  /// A tensor that the checkpoint stores with shape `stored`, as a matrix of `rows` rows.
  mlir::Value matrix(const std::string &name, llvm::ArrayRef<int64_t> stored, int64_t rows);
  /// A tensor that the checkpoint stores with shape `stored`, as a vector.
  mlir::Value vector(const std::string &name, llvm::ArrayRef<int64_t> stored);
  mlir::Value linear(mlir::Value x, mlir::Value weight, mlir::Value bias = {},
                     transformer::Activation activation = transformer::Activation::None);
  /// As above, for scores of classes.
  mlir::Value scores(mlir::Value x, mlir::Value weight, mlir::Value bias,
                     transformer::Activation activation);
  mlir::Value linear(mlir::Value x, const std::string &prefix, int64_t out, int64_t in, bool bias,
                     transformer::Activation activation);
  /// Creates a norm with the tensors PREFIX.weight and, for a layer norm, PREFIX.bias. With several
  /// `heads` each has its own weights, stored one after another.
  mlir::Value norm(mlir::Value x, const std::string &prefix, int64_t size,
                   const NormDescription &norm, int64_t heads = 1);
  mlir::Value add(mlir::Value x, mlir::Value y);
  mlir::Value integer(int64_t value);
  /// Number of tokens of each sequence in the caches, before and after the call.
  mlir::Value rowsBefore() { return cachedRows("target.before", "rows_before"); }
  mlir::Value rowsAfter() { return cachedRows("target.after", "rows_after"); }
  mlir::Value state(const std::string &name, mlir::RankedTensorType type);
  void setState(const std::string &name, mlir::Value value);
  /// Appends `counts` rows per sequence (default: all) to a cache; returns the whole cache.
  mlir::Value append(const std::string &name, mlir::Value rows, mlir::Value counts);

  /// Sets the location of ops that are built during its lifetime to this part of the model. `role`
  /// is "keys" or "values" if the ops make these.
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
  /// The main result of the function, before all others.
  void firstResult(const std::string &name, mlir::Value value, llvm::ArrayRef<std::string> dims) {
    results.insert(results.begin(), {name, value, {dims.begin(), dims.end()}, dims.size() > 2});
  }
  /// Creates the return op. An error in `file` if an input is used with two types.
  Status finish(const std::string &file);
  /// Checks that no input is used with two types.
  Status inputsAgree(const std::string &file) const;

private:
  mlir::Value cachedRows(const std::string &name, llvm::StringRef rule);
  unsigned indexOf(const std::string &name) const { return arguments.lookup(name); }
  mlir::ArrayAttr attrs(llvm::ArrayRef<std::string> dims);
  /// Swaps the first two dimensions.
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
  unsigned foreign = 0; ///< number of arguments of the existing function, whose sizes are fixed
  std::string conflict;
};

} // namespace heddle
