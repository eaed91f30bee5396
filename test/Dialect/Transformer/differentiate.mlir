// RUN: heddle-opt %s --differentiate | FileCheck %s

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
