//===- LinearPlans.cpp - Plans of products with weights -------------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Plans of products with weights:
//
//   CPU   panels of weights are prefetched; products with many features are computed in
//         blocks of features
//   GPU   from level 1 on, operands are staged in workgroup memory; matrix units multiply
//         them if the level has some; launches with few rows have a second plan

#include "Plans.h"
#include "ProductRows.h"

#include "heddle/Planning/LinearColumns.h"
#include "heddle/Support/Program.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::planning;
using namespace heddle::transformer;
using kernel::Mapping;
using kernel::PlanAttr;

/// Number of columns up to which a layer of wide tiles has too few workgroups for a large GPU.
static constexpr int64_t fewColumns = 2048;
/// Columns of the widest tiles, and of those that a row of ProductRows calls wide.
static constexpr int64_t widestColumns = 256, wideColumns = 128;

int64_t planning::sumsOfRow(const NumberFormat &format, int64_t columns) {
  return formatOf(format.weights).isCode() ? 2 * columns : columns;
}

/// Number of features in a block of a CPU's product; 0: one block has all features. A block of a
/// tile of weight columns and of a tile of input rows fits a cache of 1 MiB. Blocks are multiples
/// of the format's sumBlock.
static int64_t cpuFeatureBlock(const NumberFormat &format, int64_t features) {
  const int64_t perFloat = formatOf(format.rows).isCode() ? 4 : 1, most = 512 * perFloat,
                whole = 1024 * perFloat;
  if (features <= whole)
    return 0;
  const int64_t blocks = llvm::divideCeil(features, most);
  return llvm::alignTo(llvm::divideCeil(features, blocks), format.sumBlock);
}

//===- The products of a kernel ------------------------------------------===//

namespace {
/// A definition of linear layers, with the properties that its plans depend on.
struct LinearQuestion : Question {
  LinearQuestion(const Question &q, ArrayRef<LinearPart> parts) : Question(q), parts(parts) {}
  LinearQuestion with(const TileSizes &others) const { return {{views, gpu, others}, parts}; }

  ArrayRef<LinearPart> parts;

  auto linears() const { return def().getBody().front().getOps<LinearOp>(); }
  LinearOp first() const { return parts.front().linear; }
  const NumberFormat &format() const {
    return *views.productOf(first().getInput(), first().getWeight());
  }
  /// Columns of the first layer.
  int64_t columns() const {
    return views.viewTypeOf(first().getWeight()).getDim(0).extent.value / first().getGroups();
  }
  /// Whether one value is computed from two products.
  bool isGated() const { return llvm::range_size(linears()) == 2 && parts.size() == 1; }
};
} // namespace

/// Number of products that a tile of `value` needs. A value that is read twice is computed twice.
static int64_t productsOf(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op)
    return 0;
  if (isa<LinearOp>(op))
    return 1;
  int64_t products = 0;
  for (Value operand : op->getOperands())
    products += productsOf(operand);
  return products;
}

/// Products of a body whose tiles have `rows` rows and the columns of its loops.
static Products productsOf(const LinearQuestion &q, ArrayRef<ColumnLoop> loops, int64_t rows) {
  Products products{&q.format(), rows, loops.front().tile, 0, 0, true};
  for (const ColumnLoop &loop : loops) {
    RotaryOp rotary = loop.part->rotary;
    const int64_t count = productsOf(rotary ? rotary.getInput() : loop.part->yielded);
    products.isWide &= loop.tile % 32 == 0;
    products.sums = std::max(products.sums, count * (loop.rotates ? 2 : 1) *
                                                sumsOfRow(*products.format, loop.tile));
  }
  return products;
}

//===- Tiles of columns --------------------------------------------------===//

/// Whether matrix units may compute a layer in tiles of `widestColumns`. The two buffers of their
/// blocks take 36 KiB. Chains of int4 take the registers that the sums of such tiles need.
static bool mayBeWidest(const LinearQuestion &q) {
  const bool isForFew = q.sizes.linearColumns.front() < wideColumns;
  return q.sizes.multipliesMatrices && takesWidestTiles() && !isForFew &&
         !q.format().sumsGroups() && q.gpu->sharedBytes >= int64_t{48} << 10;
}

/// The widest tile that divides the columns, or the columns of a head, of every part without
/// rotation. Two kinds of GPU layers have tiles of at most `narrowColumns`:
///
///  - Layers with few columns, so that more workgroups occupy the GPU.
///  - Gated layers on matrix units. Both products are computed together, so two narrow tiles have
///    the sums of one wide tile. int4 products are computed one after the other, but two wide tiles
///    exceed the registers.
static int64_t commonTile(const LinearQuestion &q) {
  const bool isFew = llvm::hasSingleElement(q.linears()) &&
                     storedColumns(q.views, q.first()) <= fewColumns,
             isNarrow =
                 q.sizes.stagedSteps && (isFew || (q.isGated() && q.sizes.multipliesMatrices));
  auto dividesAll = [&](int64_t tile) {
    return llvm::all_of(q.parts, [&](const LinearPart &part) {
      return part.rotary || unitOf(q.views, part) % tile == 0;
    });
  };
  if (!isNarrow && mayBeWidest(q) && dividesAll(widestColumns))
    return widestColumns;
  for (int64_t tile : q.sizes.linearColumns)
    if ((!isNarrow || tile <= narrowColumns) && dividesAll(tile))
      return tile;
  return 16;
}

/// Whether a value before rounding is computed by a dropout, directly or through later ops.
static bool drops(Value value) {
  Operation *op = value.getDefiningOp();
  return op && !isa<LinearOp>(op) && (isa<DropoutOp>(op) || llvm::any_of(op->getOperands(), drops));
}

/// The tile for most columns of a part, given the tile that divides all of them. A narrow tile
/// loads each element of the rows for few multiplications, and bf16 rows may be widened again for
/// each tile. A wide tile that leaves a tail costs a second loop, so few columns are split only if
/// no tile but the narrowest divides them. Formats that scale their rows have other register tiles.
static int64_t tileOfMost(const LinearQuestion &q, const LinearPart &part, int64_t tile) {
  const int64_t widest = q.sizes.linearColumns.front(), many = 8 * widest,
                columns = unitOf(q.views, part);
  LinearOp linear = part.linear;
  const NumberFormat &format = linear.getFormat();
  if (!q.sizes.cutsColumns)
    return tile;
  if (drops(part.yielded) && columns >= dropoutColumns)
    return dropoutColumns;
  if (!format.scaleGroup && columns >= many)
    return format.rows == DType::BF16 && columns >= 4 * many ? 2 * widest : widest;
  return tile == q.sizes.linearColumns.back() ? widest : tile;
}

/// Tiles of all loops, in the order of `columnLoops`.
static SmallVector<int64_t> tilesOf(const LinearQuestion &q) {
  SmallVector<int64_t> tiles;
  const int64_t common = commonTile(q);
  for (const LinearPart &part : q.parts) {
    RotaryOp rotary = part.rotary;
    if (!rotary) {
      const int64_t unit = unitOf(q.views, part), tile = tileOfMost(q, part, common);
      if (unit >= tile)
        tiles.push_back(tile);
      if (unit % tile)
        tiles.push_back(firstDividing(q.sizes.linearColumns, unit % tile));
      continue;
    }
    const int64_t head = headColumns(q.views, part), rotated = rotary.getRotatedSize();
    tiles.push_back(firstDividing(q.sizes.linearColumns, rotated / 2));
    if (rotated < head)
      tiles.push_back(firstDividing(q.sizes.linearColumns, head - rotated));
  }
  return tiles;
}

//===- Plans -------------------------------------------------------------===//

KernelPlan planning::planBlocked(const Question &q, const Products &products,
                                 ArrayRef<int64_t> tile) {
  // Registers hold 8 x 16 sums of an invocation.
  const int64_t down = products.rows <= 32 && std::max(products.columns, products.values) < 128 ? 4
                                                                                                : 8,
                across = products.sums > 128 ? 16
                         : products.isWide   ? 8
                                             : 4;
  return {
      PlanAttr::get(q.context(), Mapping::Blocked, tile, {std::min(products.rows, down), across}),
      "invocations load their operands; registers hold the sums"};
}

/// The table's case of products whose widest tile has `most` columns.
static ProductCase caseOf(const Products &products, Mapping mapping, int64_t most) {
  const NumberFormat &format = *products.format;
  const Width width = most <= narrowColumns ? Width::Narrow
                      : most > wideColumns  ? Width::Widest
                                            : Width::Wide;
  return {mapping, width, formatOf(format.weights).isCode(), format.rows != format.weights,
          products.sums > sumsOfRow(format, most)};
}

static std::string reasonOf(const ProductRow &row) {
  return std::string(row.reason) + " (" + row.bench + ")";
}

KernelPlan planning::planStaged(const Question &q, const Products &products,
                                ArrayRef<int64_t> tile) {
  const Mapping mapping = q.sizes.multipliesMatrices ? Mapping::Matrix : Mapping::Staged;
  const int64_t most = *llvm::max_element(tile.drop_front());
  const ProductRow row = productRow(caseOf(products, mapping, most));
  int64_t block = row.block;
  if (const MatrixShape *shape = q.gpu->matrixOf(products.format->rows, products.format->weights))
    block = std::max(block, row.matrixSteps * shape->k / formatOf(shape->operands).perWord);
  return {PlanAttr::get(q.context(), mapping, tile,
                        {products.rows / row.rowsOfInvocation,
                         std::max<int64_t>(most / row.columnsOfInvocation, 4)},
                        block, row.ahead, /*heads=*/0, row.buffers, products.areRounded),
          reasonOf(row)};
}

/// Products of rows that another kernel rounds to the type of the weights, if matrix units multiply
/// rows of f32. Each workgroup would otherwise search all its rows for their largest numbers.
static Products withRoundedRows(const LinearQuestion &q, Products products) {
  const NumberFormat &format = *products.format;
  products.areRounded =
      q.sizes.multipliesMatrices && format.rows == DType::F32 && format.weights == DType::F16 &&
      llvm::all_of(q.linears(),
                   [&](LinearOp linear) { return linear.getInput() == q.first().getInput(); });
  if (products.areRounded)
    products.format = findProduct(format.weights, format.weights);
  return products;
}

/// Words of a block of few rows: the words of the table's row, unless a row has fewer, or the columns
/// take more than two thirds of the level's workgroup memory.
static int64_t blockOfFew(const LinearQuestion &q, const ProductRow &row, int64_t columns) {
  const int64_t words = llvm::divideCeil(q.views.featuresOf(q.first().getInput()),
                                         formatOf(q.format().weights).perWord),
                most = q.gpu->sharedBytes * 2 / 3 / (columns * 4);
  int64_t block = row.block;
  while (block > row.rowBlock && (block > words || block > most))
    block /= 2;
  return block;
}

/// Plan of a product with few rows, which is bound by loading weights.
static KernelPlan planFewRows(const LinearQuestion &q, const Products &products,
                              ArrayRef<int64_t> tile) {
  const Mapping mapping = q.sizes.multipliesMatrices ? Mapping::MatrixFewRows : Mapping::FewRows;
  ProductCase product = caseOf(products, mapping, *llvm::max_element(tile.drop_front()));
  const bool isNarrow = q.columns() <= fewColumns && !product.hasSeveral;
  product.width = isNarrow ? Width::Narrow : Width::Wide;
  const ProductRow row = productRow(product);
  constexpr int64_t across = 16;
  const int64_t columns = *llvm::max_element(tile.drop_front()) * (product.hasSeveral ? 2 : 1),
                block = row.rowBlock ? blockOfFew(q, row, columns) : row.block;
  return {PlanAttr::get(q.context(), mapping, tile, {products.rows, across}, block, row.ahead,
                        /*heads=*/0, row.buffers, /*rounded=*/false,
                        block > row.rowBlock ? row.rowBlock : 0),
          reasonOf(row)};
}

/// Tile sizes for a kernel's products on its target. Products of codes are staged only if the level
/// has packed dot products; otherwise they have the tiles of level 0.
static TileSizes sizesOf(const LinearQuestion &q) {
  TileSizes sizes = q.sizes;
  if (q.isCpu())
    return sizes;
  auto all = [&](auto holds) { return llvm::all_of(q.linears(), holds); };
  if (q.gpu->matrixTiles && all([&](LinearOp linear) {
        return q.gpu->matrixOf(q.views.elementOf(linear.getInput()),
                               q.views.elementOf(linear.getWeight())) != nullptr;
      }))
    return *q.gpu->matrixTiles;
  const bool stages = all([&](LinearOp linear) {
    return q.gpu->packedDots || !formatOf(q.views.elementOf(linear.getWeight())).isCode();
  });
  if (sizes.stagedSteps && !stages) {
    sizes.stagedSteps = 0;
    sizes.linearRows = gpuTiles.linearRows;
  }
  return sizes;
}

/// The tile, rows first, and the products of a body with the sizes of `q`.
static FailureOr<std::pair<SmallVector<int64_t>, Products>> tileOf(const LinearQuestion &q) {
  SmallVector<int64_t> tile = tilesOf(q);
  FailureOr<SmallVector<ColumnLoop>> loops = columnLoops(q.views, q.parts, tile);
  if (failed(loops))
    return failure();
  Products products = productsOf(q, *loops, q.sizes.linearRows);
  tile.insert(tile.begin(), q.sizes.linearRows);
  return std::pair(tile, products);
}

/// CPU plan of a product of `input` with `weight`. A weight in panels is prefetched; a matrix that
/// another kernel computes is in a cache already.
static KernelPlan planCpuProduct(const Question &q, Value input, Value weight,
                                 ArrayRef<int64_t> tile) {
  const unsigned view = q.views.viewOf(weight);
  if (!q.views.isWeight(view) && !q.views.viewType(view).getPanel())
    return {PlanAttr::get(q.context(), Mapping::CpuTiles, tile),
            "the other side of the product is not a weight in panels"};
  const int64_t block =
      cpuFeatureBlock(*q.views.productOf(input, weight), q.views.featuresOf(input));
  return {PlanAttr::get(q.context(), Mapping::CpuTiles, tile, {}, block, q.views.isWeight(view)),
          block ? "blocks of features keep a tile of weights in a cache of 1 MiB"
                : "the features of a tile of weights fit a cache of 1 MiB"};
}

FailureOr<KernelPlans> planning::planLinear(const Question &question) {
  FailureOr<SmallVector<LinearPart>> parts = linearParts(question.views);
  if (failed(parts))
    return failure();
  const LinearQuestion asked(question, *parts);
  const TileSizes sizes = sizesOf(asked);
  const LinearQuestion q = asked.with(sizes);
  auto planned = tileOf(q);
  if (failed(planned))
    return failure();
  const auto &[tile, products] = *planned;
  if (q.isCpu())
    return KernelPlans{
        planCpuProduct(q, q.first().getInput(), q.first().getWeight(), tile), {}, {}};
  KernelPlans plans;
  const Products rounded = withRoundedRows(q, products);
  plans.kernel = sizes.stagedSteps ? planStaged(q, rounded, tile) : planBlocked(q, products, tile);
  if (plans.kernel.plan.getRounded())
    plans.rounding = planRounding(q, q.first().getInput());
  // A static number of rows leaves no choice at launch. The grid over groups has more rows than a
  // form for few rows serves.
  if (!sizes.fewRows || rowsOfLinear(q.views).isStatic() || q.first().getStarts())
    return plans;
  TileSizes few = sizes;
  few.linearRows = sizes.fewRows;
  few.linearColumns = sizes.fewRowColumns;
  const LinearQuestion ofFew = q.with(few);
  auto plannedFew = tileOf(ofFew);
  if (failed(plannedFew))
    return failure();
  plans.fewRows = planFewRows(ofFew, plannedFew->second, plannedFew->first);
  return plans;
}

KernelPlan planning::planHeadProducts(const Question &q) {
  HeadProductsOp op;
  q.def().walk([&](HeadProductsOp found) { op = found; });
  const int64_t rows = q.sizes.linearRows,
                columns = firstDividing(q.sizes.linearColumns, op.getType().getShape().back());
  const NumberFormat *format = q.views.productOf(op.getInput(), op.getWeight());
  if (q.isCpu())
    return planCpuProduct(q, op.getInput(), op.getWeight(), {rows, columns});
  const Products products{format, rows, columns, 0, sumsOfRow(*format, columns), columns % 32 == 0};
  return q.sizes.stagedSteps ? planStaged(q, products, {rows, columns})
                             : planBlocked(q, products, {rows, columns});
}
