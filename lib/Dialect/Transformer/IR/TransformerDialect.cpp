//===- TransformerDialect.cpp - The transformer dialect --------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Registration of the dialect, attributes of function arguments and results,
// and the error about unknown ops.

#include "heddle/Dialect/Transformer/IR/TransformerOps.h"

#include "heddle/Support/SizeExpr.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/Interfaces/FoldInterfaces.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace heddle::transformer;

#include "heddle/Dialect/Transformer/IR/TransformerDialect.cpp.inc"
#include "heddle/Dialect/Transformer/IR/TransformerEnums.cpp.inc"
#define GET_TYPEDEF_CLASSES
#include "heddle/Dialect/Transformer/IR/TransformerTypes.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "heddle/Dialect/Transformer/IR/TransformerAttrs.cpp.inc"

namespace {
/// Folding materializes the constants of a formula inside its region.
struct FoldInTransformer : DialectFoldInterface {
  using DialectFoldInterface::DialectFoldInterface;
  bool shouldMaterializeInto(Region *region) const final {
    return isa<MaskWhereOp, BiasWhereOp>(region->getParentOp());
  }
};
} // namespace

void TransformerDialect::initialize() {
  addInterfaces<FoldInTransformer>();
  addTypes<
#define GET_TYPEDEF_LIST
#include "heddle/Dialect/Transformer/IR/TransformerTypes.cpp.inc"
      >();
  addAttributes<
#define GET_ATTRDEF_LIST
#include "heddle/Dialect/Transformer/IR/TransformerAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "heddle/Dialect/Transformer/IR/TransformerOps.cpp.inc"
      >();
}

//===- Unknown ops -------------------------------------------------------===//

/// Reports an unknown op. This is a plain function, because MLIR keeps a reference to the hook and
/// copies no captures.
static ParseResult refuseUnknown(OpAsmParser &parser, OperationState &state) {
  StringRef name = state.name.getStringRef(), nearest;
  unsigned least = ~0u;
  for (RegisteredOperationName known : parser.getContext()->getRegisteredOperations())
    if (unsigned distance = name.edit_distance(known.getStringRef());
        isa<TransformerDialect>(known.getDialect()) && distance < least) {
      nearest = known.getStringRef();
      least = distance;
    }
  // The parser prepends the op's name to the message.
  return parser.emitError(parser.getNameLoc(),
                          "is not supported yet or misspelt, the nearest op is '")
         << nearest << "'";
}

std::optional<Dialect::ParseOpHook> TransformerDialect::getParseOperationHook(StringRef) const {
  return ParseOpHook(refuseUnknown);
}

//===- Attributes of arguments and results -------------------------------===//

namespace {
/// Position of an attribute, for messages: "argument 0: transformer.dims: ...".
struct PortSite {
  Operation *function;
  StringRef kind;
  unsigned index;

  InFlightDiagnostic error(StringRef attribute) const {
    return function->emitOpError() << kind << " " << index << ": " << attribute << ": ";
  }
};
} // namespace

bool heddle::transformer::detail::isDimName(StringRef text) {
  auto isStart = [](char c) { return llvm::isAlpha(c) || c == '_'; };
  return !text.empty() && isStart(text.front()) &&
         llvm::all_of(text, [&](char c) { return isStart(c) || llvm::isDigit(c) || c == '.'; });
}

static LogicalResult verifyDim(const PortSite &place, Attribute entry, int64_t i, int64_t size) {
  bool dynamic = ShapedType::isDynamic(size);
  if (auto name = dyn_cast<StringAttr>(entry)) {
    if (!heddle::transformer::detail::isDimName(name.getValue()))
      return place.error(TransformerDialect::dimsAttr)
             << "dimension " << i << ": expected " << heddle::transformer::detail::dimName
             << ", found " << name;
    if (!dynamic)
      return place.error(TransformerDialect::dimsAttr)
             << "dimension " << i << ": expected the number " << size << ", found the name "
             << entry;
    return success();
  }
  auto number = dyn_cast<IntegerAttr>(entry);
  if (!number)
    return place.error(TransformerDialect::dimsAttr)
           << "dimension " << i << ": expected a name or a number, found " << entry;
  if (dynamic)
    return place.error(TransformerDialect::dimsAttr)
           << "dimension " << i << ": expected a name of the dynamic dimension, found "
           << number.getInt();
  if (number.getInt() != size)
    return place.error(TransformerDialect::dimsAttr)
           << "dimension " << i << ": expected " << size << ", found " << number.getInt();
  return success();
}

/// transformer.dims: one name or number a dimension.
static LogicalResult verifyDims(const PortSite &place, Attribute attribute, Type type) {
  auto dims = dyn_cast<ArrayAttr>(attribute);
  if (!dims)
    return place.error(TransformerDialect::dimsAttr)
           << "expected a list of names and numbers, found " << attribute;
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor)
    return place.error(TransformerDialect::dimsAttr) << "expected a ranked tensor, found " << type;
  if (static_cast<int64_t>(dims.size()) != tensor.getRank())
    return place.error(TransformerDialect::dimsAttr)
           << "expected " << tensor.getRank() << " entries, one a dimension, found " << dims.size();
  for (auto [i, entry] : llvm::enumerate(dims))
    if (LogicalResult checked = verifyDim(place, entry, i, tensor.getDimSize(i)); failed(checked))
      return checked;
  return success();
}

bool TransformerDialect::isTransposed(ArrayAttr dims, ArrayAttr port) {
  if (dims == port || dims.size() != port.size() || dims.size() < 2)
    return false;
  return dims[0] == port[1] && dims[1] == port[0] &&
         dims.getValue().drop_front(2) == port.getValue().drop_front(2);
}

/// The dimensions that are not 1.
static SmallVector<Attribute> withoutOnes(ArrayAttr dims) {
  return llvm::filter_to_vector(dims, [](Attribute dim) {
    auto number = dyn_cast<IntegerAttr>(dim);
    return !number || number.getInt() != 1;
  });
}

/// transformer.port: the dims without ones, optionally with the first two transposed.
static LogicalResult verifyPort(const PortSite &place, Attribute attribute, ArrayAttr dims) {
  auto port = dyn_cast<ArrayAttr>(attribute);
  if (!port || !llvm::all_of(port, llvm::IsaPred<StringAttr, IntegerAttr>))
    return place.error(TransformerDialect::portAttr)
           << "expected a list of names and numbers, found " << attribute;
  if (!dims)
    return place.error(TransformerDialect::portAttr)
           << "expected transformer.dims with it, found none";
  if (withoutOnes(port) != withoutOnes(dims) && !TransformerDialect::isTransposed(dims, port))
    return place.error(TransformerDialect::portAttr)
           << "expected " << dims
           << " without dimensions of 1, or with the first two transposed, found " << port;
  return success();
}

/// transformer.broadcast: the full sizes of an input; callers may pass 1 instead of each of them.
static LogicalResult verifyBroadcast(const PortSite &place, Attribute attribute, Type type) {
  auto sizes = dyn_cast<ArrayAttr>(attribute);
  auto isSize = [](Attribute size) {
    return isa<StringAttr>(size) || (isa<IntegerAttr>(size) && !isa<BoolAttr>(size));
  };
  if (!sizes || !llvm::all_of(sizes, isSize))
    return place.error(TransformerDialect::broadcastAttr)
           << "expected a list of sizes, found " << attribute;
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor || tensor.getRank() != static_cast<int64_t>(sizes.size()))
    return place.error(TransformerDialect::broadcastAttr)
           << "expected one size a dimension of " << type << ", found " << sizes.size();
  for (Attribute size : sizes)
    if (auto text = dyn_cast<StringAttr>(size))
      if (auto parsed = heddle::SizeExpr::parse(text.str()); !parsed)
        return place.error(TransformerDialect::broadcastAttr) << parsed.error().message;
  return success();
}

static LogicalResult verifyName(const PortSite &place, Attribute attribute) {
  auto name = dyn_cast<StringAttr>(attribute);
  if (!name || name.getValue().empty())
    return place.error(TransformerDialect::nameAttr) << "expected a name, found " << attribute;
  return success();
}

static bool isIntegerTensor(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && tensor.getElementType().isInteger(32);
}

/// transformer.range: [low, high) for i32. The order of ends that are expressions is checked only
/// at run time.
static LogicalResult verifyRange(const PortSite &place, Attribute attribute, Type type) {
  auto range = dyn_cast<ArrayAttr>(attribute);
  if (!range || range.size() != 2)
    return place.error(TransformerDialect::rangeAttr)
           << "expected [low, high], found " << attribute;
  if (!isIntegerTensor(type))
    return place.error(TransformerDialect::rangeAttr) << "expected a tensor of i32, found " << type;
  auto isEnd = [](Attribute end) {
    auto text = dyn_cast<StringAttr>(end);
    return isa<IntegerAttr>(end) || (text && heddle::SizeExpr::parse(text.str()));
  };
  for (Attribute end : range)
    if (!isEnd(end))
      return place.error(TransformerDialect::rangeAttr)
             << "expected numbers or expressions of dimensions, found " << end;
  auto low = dyn_cast<IntegerAttr>(range[0]), high = dyn_cast<IntegerAttr>(range[1]);
  if (low && high && low.getInt() >= high.getInt())
    return place.error(TransformerDialect::rangeAttr)
           << "expected low < high, found " << low.getInt() << " and " << high.getInt();
  return success();
}

/// Whether an argument of `function` is named `name`.
static bool hasArgumentNamed(FunctionOpInterface function, StringRef name) {
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    if (auto other = function.getArgAttrOfType<StringAttr>(i, TransformerDialect::nameAttr))
      if (other.getValue() == name)
        return true;
  return false;
}

/// Whether a session of the module has a length with this name.
static bool hasLengthNamed(Operation *op, StringRef name) {
  for (auto state : SymbolTable::getNearestSymbolTable(op)->getRegion(0).getOps<StateOp>())
    if (state.getCapacity() && state.getDims().size() == 4 && state.getLengthName() == name)
      return true;
  return false;
}

/// transformer.default: the argument that default lengths or zeros derive from, and its padding id;
/// or the length of caches whose rows the session counts.
static LogicalResult verifyDefault(const PortSite &place, Attribute attribute, Type type) {
  std::optional<heddle::DefaultInput> fallback = heddle::defaultFromAttr(attribute);
  if (!fallback)
    return place.error(TransformerDialect::defaultAttr)
           << "expected one of lengths_of, zeros_of, no_rows_of, rows_before and rows_after "
              "with a name, and an integer padding with lengths, found "
           << attribute;
  bool zeros = fallback->kind == heddle::DefaultInput::Kind::ZerosOf;
  auto function = dyn_cast<FunctionOpInterface>(place.function);
  if (function && fallback->isKept() && !hasLengthNamed(function, fallback->source))
    return place.error(TransformerDialect::defaultAttr)
           << "expected the length of a transformer.state with a capacity, found \""
           << fallback->source << "\"";
  if (function && !fallback->isKept() && !hasArgumentNamed(function, fallback->source))
    return place.error(TransformerDialect::defaultAttr)
           << "expected the name of an argument, found \"" << fallback->source << "\"";
  if (!isIntegerTensor(type) || cast<RankedTensorType>(type).getRank() != (zeros ? 2 : 1))
    return place.error(TransformerDialect::defaultAttr)
           << "expected a " << (zeros ? "tensor<?x?xi32>" : "tensor<?xi32>") << ", found " << type;
  return success();
}

/// Checks that no earlier argument (or result) has the name.
template <typename NameOf>
static LogicalResult verifyUnique(const PortSite &place, StringAttr name, NameOf nameOf) {
  for (unsigned i = 0; i < place.index; ++i)
    if (nameOf(i) == name)
      return place.error(TransformerDialect::nameAttr)
             << "expected a name of its own, found " << name << " again (" << place.kind << " " << i
             << ")";
  return success();
}

LogicalResult TransformerDialect::verifyRegionArgAttribute(Operation *op, unsigned,
                                                           unsigned argIndex,
                                                           NamedAttribute attribute) {
  auto function = dyn_cast<FunctionOpInterface>(op);
  PortSite place{op, "argument", argIndex};
  if (!function)
    return op->emitOpError() << attribute.getName() << ": expected a function";
  Type type = function.getArgumentTypes()[argIndex];
  if (attribute.getName() == dimsAttr)
    return verifyDims(place, attribute.getValue(), type);
  if (attribute.getName() == rangeAttr)
    return verifyRange(place, attribute.getValue(), type);
  if (attribute.getName() == defaultAttr)
    return verifyDefault(place, attribute.getValue(), type);
  if (attribute.getName() == portAttr)
    return verifyPort(place, attribute.getValue(),
                      function.getArgAttrOfType<ArrayAttr>(argIndex, dimsAttr));
  if (attribute.getName() == broadcastAttr)
    return verifyBroadcast(place, attribute.getValue(), type);
  if (attribute.getName() != nameAttr)
    return place.error(attribute.getName())
           << "expected transformer.name, dims, range, default, port or broadcast";
  if (LogicalResult checked = verifyName(place, attribute.getValue()); failed(checked))
    return checked;
  return verifyUnique(place, cast<StringAttr>(attribute.getValue()),
                      [&](unsigned i) { return function.getArgAttr(i, nameAttr); });
}

LogicalResult TransformerDialect::verifyRegionResultAttribute(Operation *op, unsigned,
                                                              unsigned resultIndex,
                                                              NamedAttribute attribute) {
  auto function = dyn_cast<FunctionOpInterface>(op);
  PortSite place{op, "result", resultIndex};
  if (!function)
    return op->emitOpError() << attribute.getName() << ": expected a function";
  if (attribute.getName() == dimsAttr)
    return verifyDims(place, attribute.getValue(), function.getResultTypes()[resultIndex]);
  if (attribute.getName() == portAttr)
    return verifyPort(place, attribute.getValue(),
                      function.getResultAttrOfType<ArrayAttr>(resultIndex, dimsAttr));
  if (attribute.getName() != nameAttr)
    return place.error(attribute.getName()) << "expected transformer.name, dims or port";
  if (LogicalResult checked = verifyName(place, attribute.getValue()); failed(checked))
    return checked;
  return verifyUnique(place, cast<StringAttr>(attribute.getValue()),
                      [&](unsigned i) { return function.getResultAttr(i, nameAttr); });
}
