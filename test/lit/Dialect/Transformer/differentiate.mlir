// RUN: heddle-opt %s --differentiate --split-input-file | FileCheck %s

// The backward pass follows the forward pass. A feed-forward block becomes products, gelu a
// separate op, and the table with two uses has two accumulators. The loss stays without smoothing.

// CHECK-LABEL: func.func @loss
// CHECK:         transformer.ffn
// CHECK:         transformer.cross_entropy %{{.*}}, %{{.*}} {padding_id = 0 : i64} :
// CHECK-LABEL: func.func @gradients
// CHECK-SAME:    -> (tensor<1xf32> {transformer.dims = [1], transformer.name = "loss.sum"}, tensor<1xf32> {transformer.dims = [1], transformer.name = "tokens"})
// CHECK:         %[[X:.*]] = transformer.embedding
// CHECK:         %[[U:.*]] = transformer.linear %[[X]], %[[W1:.*]] bias
// CHECK:         %[[H:.*]] = transformer.activate %[[U]] {activation = #transformer.activation<gelu>}
// CHECK:         %[[Z:.*]] = transformer.linear %[[H]]
// CHECK:         %[[Y:.*]] = transformer.linear %[[Z]]
// CHECK:         %[[DY:.*]], %[[ROWS:.*]] = transformer.cross_entropy.gradient %[[Y]], %{{.*}} {padding_id = 0 : i64, smoothing = 1.000000e-01 : f32}
// CHECK:         %[[SUM:.*]], %[[COUNT:.*]] = transformer.cross_entropy.sum %[[ROWS]]
// CHECK:         transformer.gradient.product "table", %[[DY]], %[[Z]] {use = 1 : i64}
// CHECK:         %[[DZ:.*]] = transformer.linear.transposed %[[DY]]
// CHECK:         transformer.gradient.product "w2", %[[DZ]], %[[H]]
// CHECK:         %[[DH:.*]] = transformer.linear.transposed %[[DZ]]
// CHECK:         %[[DU:.*]] = transformer.activation.gradient %[[DH]], %[[U]] {activation = #transformer.activation<gelu>}
// CHECK:         transformer.gradient.product "w1", %[[DU]], %[[X]]
// CHECK:         transformer.gradient.columns "b1", %[[DU]]
// CHECK:         %[[DX:.*]] = transformer.linear.transposed %[[DU]], %[[W1]]
// CHECK:         transformer.gradient.rows "table", %[[DX]], %{{.*}} {padding_id = 0 : i64, size = 50 : i64}
// CHECK:         return %[[SUM]], %[[COUNT]]
func.func @loss(%ids: tensor<?x?xi32>, %next: tensor<?x?xi32>) -> (tensor<1xf32> {transformer.name = "loss"}) {
  %table = transformer.weight "table" : tensor<50x8xf32>
  %w1 = transformer.weight "w1" : tensor<32x8xf32>
  %b1 = transformer.weight "b1" : tensor<32xf32>
  %w2 = transformer.weight "w2" : tensor<8x32xf32>
  %x = transformer.embedding %ids, %table {padding_id = 0 : i64} : (tensor<?x?xi32>, tensor<50x8xf32>) -> tensor<?x?x8xf32>
  %z = transformer.ffn %x in(%w1, %b1) out(%w2) {activation = #transformer.activation<gelu>} : (tensor<?x?x8xf32>, tensor<32x8xf32>, tensor<32xf32>, tensor<8x32xf32>) -> tensor<?x?x8xf32>
  %y = transformer.linear %z, %table : (tensor<?x?x8xf32>, tensor<50x8xf32>) -> tensor<?x?x50xf32>
  %l = transformer.cross_entropy %y, %next {padding_id = 0 : i64, smoothing = 0.1 : f32} : (tensor<?x?x50xf32>, tensor<?x?xi32>) -> tensor<1xf32>
  return %l : tensor<1xf32>
}

// -----

// Dropouts have sites in program order, the backward pass drops the same numbers, and the evaluation
// drops none.

// CHECK-LABEL: func.func @loss
// CHECK-NOT:     dropout
// CHECK-LABEL: func.func @gradients
// CHECK-SAME:    %[[KEY:[a-z0-9]+]]: tensor<3xi32> {transformer.dims = [3], transformer.name = "dropout.key"}, %[[EXAMPLES:[a-z0-9]+]]: tensor<?xi32> {transformer.dims = ["B"], transformer.name = "dropout.examples"}
// CHECK:         %[[ROWS:.*]] = transformer.row_numbers %[[EXAMPLES]]
// CHECK:         %[[FIRST:.*]] = arith.constant 0 : i32
// CHECK:         transformer.dropout %{{.*}} key(%[[KEY]] : tensor<3xi32>) rows(%[[ROWS]] : tensor<?x?x2xi32>) site(%[[FIRST]]) {probability = 1.000000e-01 : f32}
// CHECK:         %[[SECOND:.*]] = arith.constant 1 : i32
// CHECK:         transformer.attention {{.*}} key(%[[KEY]] : tensor<3xi32>) examples(%[[EXAMPLES]] : tensor<?xi32>) site(%[[SECOND]])
// CHECK:         transformer.attention.query_gradient {{.*}} site(%[[SECOND]])
// CHECK:         transformer.attention.key_gradient {{.*}} site(%[[SECOND]])
// CHECK:         transformer.dropout %{{.*}} site(%[[FIRST]])
func.func @loss(%ids: tensor<?x?xi32> {transformer.name = "ids"}, %next: tensor<?x?xi32> {transformer.name = "next"}) -> (tensor<1xf32> {transformer.name = "loss"}) {
  %table = transformer.weight "table" : tensor<50x8xf32>
  %e = transformer.embedding %ids, %table : (tensor<?x?xi32>, tensor<50x8xf32>) -> tensor<?x?x8xf32>
  %x = transformer.dropout %e {probability = 0.1 : f32} : tensor<?x?x8xf32>
  %h = transformer.split_heads %x {heads = 2 : i64} : tensor<?x?x8xf32> -> tensor<?x2x?x4xf32>
  %o = transformer.attention %h, %h, %h {dropout = 0.2 : f32, scale = 0.5 : f32} : (tensor<?x2x?x4xf32>, tensor<?x2x?x4xf32>, tensor<?x2x?x4xf32>) -> tensor<?x2x?x4xf32>
  %z = transformer.merge_heads %o : tensor<?x2x?x4xf32> -> tensor<?x?x8xf32>
  %y = transformer.linear %z, %table : (tensor<?x?x8xf32>, tensor<50x8xf32>) -> tensor<?x?x50xf32>
  %l = transformer.cross_entropy %y, %next : (tensor<?x?x50xf32>, tensor<?x?xi32>) -> tensor<1xf32>
  return %l : tensor<1xf32>
}

// -----

// The loss of packed texts becomes gradients_packed: a dropout counts positions within its documents, and
// there is an example for each document.

// CHECK-LABEL: func.func @gradients(
// CHECK-LABEL: func.func @gradients_packed(
// CHECK-SAME:    %[[STARTS:[a-z0-9]+]]: tensor<?xi32> {transformer.name = "starts"}
// CHECK-SAME:    %[[EXAMPLES:[a-z0-9]+]]: tensor<?xi32> {transformer.dims = ["N"], transformer.name = "dropout.examples"}
// CHECK:         %[[ROWS:.*]] = transformer.row_numbers %[[EXAMPLES]], %{{.*}} documents(%[[STARTS]] : tensor<?xi32>)
// CHECK:         transformer.dropout %{{.*}} rows(%[[ROWS]] : tensor<1x?x2xi32>)
// CHECK-NOT:     documents
// CHECK:         transformer.gradient.positions "positions", %{{.*}} documents(%[[STARTS]] : tensor<?xi32>)
// CHECK-NOT:   func.func @loss_packed
func.func @loss(%ids: tensor<?x?xi32> {transformer.name = "ids"}) -> (tensor<1xf32> {transformer.name = "loss"}) {
  %table = transformer.weight "table" : tensor<50x8xf32>
  %positions = transformer.weight "positions" : tensor<9x8xf32>
  %e = transformer.embedding %ids, %table : (tensor<?x?xi32>, tensor<50x8xf32>) -> tensor<?x?x8xf32>
  %p = transformer.position.learned %e, %positions : tensor<?x?x8xf32>, tensor<9x8xf32>
  %x = transformer.dropout %p {probability = 0.1 : f32} : tensor<?x?x8xf32>
  %y = transformer.linear %x, %table : (tensor<?x?x8xf32>, tensor<50x8xf32>) -> tensor<?x?x50xf32>
  %l = transformer.cross_entropy %y, %ids : (tensor<?x?x50xf32>, tensor<?x?xi32>) -> tensor<1xf32>
  return %l : tensor<1xf32>
}
func.func @loss_packed(%ids: tensor<1x?xi32> {transformer.name = "ids"}, %starts: tensor<?xi32> {transformer.name = "starts"}) -> (tensor<1xf32> {transformer.name = "loss"}) {
  %table = transformer.weight "table" : tensor<50x8xf32>
  %positions = transformer.weight "positions" : tensor<9x8xf32>
  %e = transformer.embedding %ids, %table : (tensor<1x?xi32>, tensor<50x8xf32>) -> tensor<1x?x8xf32>
  %p = transformer.position.learned %e, %positions documents(%starts : tensor<?xi32>) : tensor<1x?x8xf32>, tensor<9x8xf32>
  %x = transformer.dropout %p documents(%starts : tensor<?xi32>) {probability = 0.1 : f32} : tensor<1x?x8xf32>
  %y = transformer.linear %x, %table : (tensor<1x?x8xf32>, tensor<50x8xf32>) -> tensor<1x?x50xf32>
  %l = transformer.cross_entropy %y, %ids : (tensor<1x?x50xf32>, tensor<1x?xi32>) -> tensor<1xf32>
  return %l : tensor<1xf32>
}
