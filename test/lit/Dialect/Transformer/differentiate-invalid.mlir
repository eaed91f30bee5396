// RUN: heddle-opt %s --differentiate --split-input-file --verify-diagnostics

// expected-error@unknown {{expected a function loss, whose gradients can be computed, found none}}
module {}

// -----

// expected-error@+1 {{expected the result of a transformer.cross_entropy, whose gradients can be computed, found none}}
func.func @loss(%x: tensor<1xf32>) -> tensor<1xf32> {
  return %x : tensor<1xf32>
}

// -----

func.func @loss(%ids: tensor<2x3xi32>) -> tensor<1xf32> {
  %t = transformer.weight "t" : tensor<8x8xf32>
  %x = transformer.embedding %ids, %t : (tensor<2x3xi32>, tensor<8x8xf32>) -> tensor<2x3x8xf32>
  // expected-error@+1 {{'transformer.softmax' op expected a derivative, found none yet}}
  %y = transformer.softmax %x : tensor<2x3x8xf32>
  %l = transformer.cross_entropy %y, %ids : (tensor<2x3x8xf32>, tensor<2x3xi32>) -> tensor<1xf32>
  return %l : tensor<1xf32>
}

// -----

func.func @loss(%ids: tensor<2x3xi32>) -> tensor<1xf32> {
  %t = transformer.weight "t" : tensor<8x8xf32>
  %s = transformer.weight "s" : tensor<2xf32>
  %x = transformer.embedding %ids, %t : (tensor<2x3xi32>, tensor<8x8xf32>) -> tensor<2x3x8xf32>
  %h = transformer.split_heads %x {heads = 2 : i64} : tensor<2x3x8xf32> -> tensor<2x2x3x4xf32>
  // expected-error@+1 {{expected a derivative, found none with sinks}}
  %o = transformer.attention %h, %h, %h sinks(%s : tensor<2xf32>) {scale = 0.5 : f32} : (tensor<2x2x3x4xf32>, tensor<2x2x3x4xf32>, tensor<2x2x3x4xf32>) -> tensor<2x2x3x4xf32>
  %y = transformer.merge_heads %o : tensor<2x2x3x4xf32> -> tensor<2x3x8xf32>
  %l = transformer.cross_entropy %y, %ids : (tensor<2x3x8xf32>, tensor<2x3xi32>) -> tensor<1xf32>
  return %l : tensor<1xf32>
}

// -----

func.func @loss(%ids: tensor<2x3xi32>) -> tensor<1xf32> {
  %t = transformer.weight "t" : tensor<8x8xf32>
  %r = transformer.weight "r" : tensor<4x2xf32>
  %x = transformer.embedding %ids, %t : (tensor<2x3xi32>, tensor<8x8xf32>) -> tensor<2x3x8xf32>
  %h = transformer.split_heads %x {heads = 2 : i64} : tensor<2x3x8xf32> -> tensor<2x2x3x4xf32>
  %b = transformer.bias.relative %r max_distance = 4 : tensor<4x2xf32>
  // expected-error@+1 {{expected a derivative, found none with a learned score rule}}
  %o = transformer.attention %h, %h, %h bias(%b) {scale = 0.5 : f32} : (tensor<2x2x3x4xf32>, tensor<2x2x3x4xf32>, tensor<2x2x3x4xf32>) -> tensor<2x2x3x4xf32>
  %y = transformer.merge_heads %o : tensor<2x2x3x4xf32> -> tensor<2x3x8xf32>
  %l = transformer.cross_entropy %y, %ids : (tensor<2x3x8xf32>, tensor<2x3xi32>) -> tensor<1xf32>
  return %l : tensor<1xf32>
}

// -----

func.func @loss(%ids: tensor<2x3xi32>) -> tensor<1xf32> {
  %t = transformer.weight "t" : tensor<8x8xf32>
  %x = transformer.embedding %ids, %t : (tensor<2x3xi32>, tensor<8x8xf32>) -> tensor<2x3x8xf32>
  %l = transformer.cross_entropy %x, %ids : (tensor<2x3x8xf32>, tensor<2x3xi32>) -> tensor<1xf32>
  return %l : tensor<1xf32>
}
// expected-error@+1 {{expected no function gradients, which is made from a loss, found one}}
func.func @gradients() {
  return
}

// -----

// Each op without a derivative is an error.
func.func @loss(%ids: tensor<2x3xi32>) -> tensor<1xf32> {
  %t = transformer.weight "t" : tensor<8x8xf32>
  %s = transformer.weight "s" : tensor<2xf32>
  %x = transformer.embedding %ids, %t : (tensor<2x3xi32>, tensor<8x8xf32>) -> tensor<2x3x8xf32>
  // expected-error@+1 {{'transformer.softmax' op expected a derivative, found none yet}}
  %p = transformer.softmax %x : tensor<2x3x8xf32>
  %h = transformer.split_heads %p {heads = 2 : i64} : tensor<2x3x8xf32> -> tensor<2x2x3x4xf32>
  // expected-error@+1 {{expected a derivative, found none with sinks}}
  %o = transformer.attention %h, %h, %h sinks(%s : tensor<2xf32>) {scale = 0.5 : f32} : (tensor<2x2x3x4xf32>, tensor<2x2x3x4xf32>, tensor<2x2x3x4xf32>) -> tensor<2x2x3x4xf32>
  %y = transformer.merge_heads %o : tensor<2x2x3x4xf32> -> tensor<2x3x8xf32>
  %l = transformer.cross_entropy %y, %ids : (tensor<2x3x8xf32>, tensor<2x3xi32>) -> tensor<1xf32>
  return %l : tensor<1xf32>
}
