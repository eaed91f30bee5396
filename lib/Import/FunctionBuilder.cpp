//===- FunctionBuilder.cpp - Building one function of a model -------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each method creates one op or one argument.

#include "FunctionBuilder.h"

#include "Description.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::transformer;

FunctionBuilder::FunctionBuilder(ModuleOp module, TensorNames &names, llvm::StringRef name,
                                 bool sequenceFirst)
    : b(module.getContext()), loc(NameLoc::get(b.getStringAttr(name))), names(names),
      sequenceFirst(sequenceFirst) {
  b.setInsertionPointToEnd(module.getBody());
  func = func::FuncOp::create(b, loc, name, b.getFunctionType({}, {}));
  b.setInsertionPointToStart(func.addEntryBlock());
}

FunctionBuilder::FunctionBuilder(func::FuncOp func, TensorNames &names, Operation *place)
    : b(place), loc(place->getLoc()), names(names), func(func), foreign(func.getNumArguments()) {
  for (unsigned i = 0; i < foreign; ++i)
    if (auto name = func.getArgAttrOfType<StringAttr>(i, TransformerDialect::nameAttr))
      arguments.try_emplace(name.getValue(), i);
}

RankedTensorType FunctionBuilder::tensor(llvm::ArrayRef<int64_t> shape, Type element) {
  SmallVector<int64_t> sizes;
  for (int64_t size : shape)
    sizes.push_back(size < 0 ? ShapedType::kDynamic : size);
  return RankedTensorType::get(sizes, element ? element : Type(b.getF32Type()));
}

/// Converts numbers to integer attributes and names to string attributes.
ArrayAttr FunctionBuilder::attrs(llvm::ArrayRef<std::string> dims) {
  SmallVector<Attribute> list;
  for (const std::string &dim : dims) {
    int64_t number;
    if (StringRef(dim).getAsInteger(10, number))
      list.push_back(b.getStringAttr(dim));
    else
      list.push_back(b.getI64IntegerAttr(number));
  }
  return b.getArrayAttr(list);
}

ArrayAttr FunctionBuilder::transposed(llvm::ArrayRef<std::string> dims) {
  SmallVector<std::string> order(dims);
  std::swap(order[0], order[1]);
  return attrs(order);
}

/// Formats a type as "i32 [B, S]".
static std::string described(Type type, ArrayAttr dims) {
  std::string text;
  llvm::raw_string_ostream out(text);
  out << getElementTypeOrSelf(type) << " [";
  if (!dims) // an argument without names for its dimensions
    return "the type of the argument";
  llvm::interleaveComma(dims, out, [&](Attribute dim) {
    if (auto name = dyn_cast<StringAttr>(dim))
      out << name.getValue();
    else
      out << cast<IntegerAttr>(dim).getInt();
  });
  return text + "]";
}

Value FunctionBuilder::input(const std::string &name, RankedTensorType type,
                             llvm::ArrayRef<std::string> dims) {
  auto [it, isNew] = arguments.try_emplace(name, func.getNumArguments());
  if (!isNew) {
    Value value = func.getArgument(it->second);
    auto before = func.getArgAttrOfType<ArrayAttr>(it->second, TransformerDialect::dimsAttr);
    auto tensor = dyn_cast<RankedTensorType>(value.getType());
    bool alike = it->second >= foreign ? value.getType() == type && before == attrs(dims)
                                       : tensor && tensor.getRank() == type.getRank() &&
                                             tensor.getElementType() == type.getElementType();
    if (conflict.empty() && !alike)
      conflict = name + "': expected one shape and type in function " + func.getSymName().str() +
                 ", found " + described(value.getType(), before) + " and " +
                 described(type, attrs(dims)) + "; give the uses names of their own";
    return value;
  }
  NamedAttrList attributes;
  attributes.append(TransformerDialect::nameAttr, b.getStringAttr(name));
  attributes.append(TransformerDialect::dimsAttr, attrs(dims));
  (void)func.insertArgument(it->second, type, attributes.getDictionary(b.getContext()), loc);
  return func.getArgument(it->second);
}

Value FunctionBuilder::input(const std::string &name, Type element,
                             llvm::ArrayRef<std::string> dims) {
  SmallVector<int64_t> shape;
  for (const std::string &dim : dims) {
    int64_t number = -1;
    shape.push_back(StringRef(dim).getAsInteger(10, number) ? -1 : number);
  }
  return input(name, tensor(shape, element), dims);
}

Value FunctionBuilder::rows(const std::string &name, RankedTensorType type,
                            llvm::ArrayRef<std::string> dims, bool asBuilt) {
  Value value = input(name, type, dims);
  if (sequenceFirst && !asBuilt)
    func.setArgAttr(indexOf(name), TransformerDialect::portAttr, transposed(dims));
  return value;
}

Value FunctionBuilder::number(const std::string &name) {
  auto it = arguments.find(name);
  if (it == arguments.end() || !func.getArgument(it->second).getType().isInteger(32))
    return {};
  return func.getArgument(it->second);
}

Value FunctionBuilder::flags(const std::string &name, llvm::ArrayRef<std::string> dims,
                             llvm::ArrayRef<std::string> port) {
  Value value = input(name, b.getI1Type(), dims);
  if (indexOf(name) >= foreign)
    seenAs(name, port);
  return value;
}

void FunctionBuilder::seenAs(const std::string &name, llvm::ArrayRef<std::string> port) {
  func.setArgAttr(indexOf(name), TransformerDialect::portAttr, attrs(port));
}

Value FunctionBuilder::broadcastInput(const std::string &name, Type element,
                                      llvm::ArrayRef<std::string> dims,
                                      llvm::ArrayRef<std::string> full) {
  Value value = input(name, element, dims);
  unsigned index = indexOf(name);
  if (index < foreign)
    return value;
  auto before = func.getArgAttrOfType<ArrayAttr>(index, TransformerDialect::broadcastAttr);
  if (before && before != attrs(full) && conflict.empty()) // layers differ in their number of heads
    conflict = name + "': expected one full shape in function " + func.getSymName().str() +
               ", found " + described(value.getType(), before) + " and " +
               described(value.getType(), attrs(full)) + "; give the uses names of their own";
  func.setArgAttr(index, TransformerDialect::broadcastAttr, attrs(full));
  return value;
}

void FunctionBuilder::range(const std::string &name, const std::string &low,
                            const std::string &high) {
  func.setArgAttr(indexOf(name), TransformerDialect::rangeAttr, attrs({low, high}));
}

void FunctionBuilder::setDefault(const std::string &name, llvm::StringRef rule,
                                 const std::string &source, int64_t padding) {
  NamedAttrList attributes;
  attributes.append(rule, b.getStringAttr(source));
  if (rule == "lengths_of")
    attributes.append("padding", b.getI64IntegerAttr(padding));
  func.setArgAttr(indexOf(name), TransformerDialect::defaultAttr,
                  attributes.getDictionary(b.getContext()));
}

Value FunctionBuilder::weight(const std::string &name, llvm::ArrayRef<int64_t> shape) {
  names.add(name, shape);
  return WeightOp::create(b, loc, tensor(shape), name);
}

Value FunctionBuilder::matrix(const std::string &name, llvm::ArrayRef<int64_t> stored,
                              int64_t rows) {
  names.add(name, stored);
  int64_t elements = ShapedType::getNumElements(stored);
  return WeightOp::create(b, loc, tensor({rows, elements / rows}), name,
                          b.getDenseI64ArrayAttr(stored));
}

Value FunctionBuilder::vector(const std::string &name, llvm::ArrayRef<int64_t> stored) {
  names.add(name, stored);
  return WeightOp::create(b, loc, tensor({ShapedType::getNumElements(stored)}), name,
                          b.getDenseI64ArrayAttr(stored));
}

Value FunctionBuilder::linear(Value x, const std::string &prefix, int64_t out, int64_t in,
                              bool bias, Activation activation) {
  Value w = weight(prefix + ".weight", {out, in});
  return linear(x, w, bias ? weight(prefix + ".bias", {out}) : Value(), activation);
}

Value FunctionBuilder::linear(Value x, Value weight, Value bias, Activation activation) {
  return LinearOp::create(b, loc, x, weight, bias, activation);
}

Value FunctionBuilder::scores(Value x, Value weight, Value bias, Activation activation) {
  auto op = LinearOp::create(b, loc, x, weight, bias, activation);
  op.setClasses(true);
  return op;
}

Value FunctionBuilder::norm(Value x, const std::string &prefix, int64_t size,
                            const NormDescription &norm, int64_t heads) {
  auto numbers = [&](const char *name) {
    return heads == 1 ? weight(prefix + name, {size})
                      : matrix(prefix + name, {heads * size}, heads);
  };
  FloatAttr epsilon = b.getF32FloatAttr(static_cast<float>(norm.epsilon));
  Value gamma = numbers(".weight");
  if (norm.rms)
    return RmsNormOp::create(b, loc, x, gamma, epsilon);
  Value beta = numbers(".bias");
  return LayerNormOp::create(b, loc, x, gamma, beta, epsilon, b.getBoolAttr(norm.root));
}

Value FunctionBuilder::add(Value x, Value y) { return arith::AddFOp::create(b, loc, x, y); }
Value FunctionBuilder::integer(int64_t value) {
  return arith::ConstantIntOp::create(b, loc, value, 32);
}
Value FunctionBuilder::cachedRows(const std::string &name, llvm::StringRef rule) {
  Value rows = input(name, tensor({-1}, b.getI32Type()), {"B"});
  setDefault(name, rule, "P");
  return rows;
}

Value FunctionBuilder::state(const std::string &name, RankedTensorType type) {
  return StateGetOp::create(b, loc, type, name);
}
void FunctionBuilder::setState(const std::string &name, Value value) {
  StateSetOp::create(b, loc, name, value);
}

Value FunctionBuilder::append(const std::string &name, Value rows, Value counts) {
  SmallVector<int64_t> shape(cast<RankedTensorType>(rows.getType()).getShape());
  shape[2] = ShapedType::kDynamic;
  return CacheAppendOp::create(b, loc, RankedTensorType::get(shape, b.getF32Type()), name, rows,
                               rowsBefore(), counts);
}

Status FunctionBuilder::finish(const std::string &file) {
  SmallVector<Value> values;
  SmallVector<Type> types;
  for (const Result &result : results) {
    values.push_back(result.value);
    types.push_back(result.value.getType());
  }
  func::ReturnOp::create(b, loc, values);
  func.setFunctionType(b.getFunctionType(func.getArgumentTypes(), types));
  for (auto [index, result] : llvm::enumerate(results)) {
    func.setResultAttr(index, TransformerDialect::nameAttr, b.getStringAttr(result.name));
    func.setResultAttr(index, TransformerDialect::dimsAttr, attrs(result.dims));
    if (sequenceFirst && result.isRows)
      func.setResultAttr(index, TransformerDialect::portAttr, transposed(result.dims));
  }
  return inputsAgree(file);
}

Status FunctionBuilder::inputsAgree(const std::string &file) const {
  if (!conflict.empty())
    return inputError(file + ": input '" + conflict);
  return {};
}
