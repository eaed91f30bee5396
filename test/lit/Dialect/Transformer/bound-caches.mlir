// Caches get the widest window of their readers, whatever window the source names. A cache whose
// readers may see any older row gets no window.
// RUN: heddle-opt %s --bound-caches | FileCheck %s

// CHECK: state @and {{.*}}window = 8
transformer.state @and {dims = ["B", 1, "P", 16], capacity = 64 : i64} : tensor<?x1x?x16xf32>
// CHECK: state @widest {{.*}}window = 31
transformer.state @widest {dims = ["B", 1, "P", 16], capacity = 64 : i64, window = 2 : i64} : tensor<?x1x?x16xf32>
// CHECK: state @either {capacity = 64 : i64, dims = ["B", 1, "P", 16]}
transformer.state @either {dims = ["B", 1, "P", 16], capacity = 64 : i64, window = 2 : i64} : tensor<?x1x?x16xf32>
// CHECK: state @elsewhere {capacity = 64 : i64, dims = ["B", 1, "P", 16]}
transformer.state @elsewhere {dims = ["B", 1, "P", 16], capacity = 64 : i64} : tensor<?x1x?x16xf32>
// CHECK: state @hidden {capacity = 64 : i64, dims = ["B", 1, "P", 16]}
transformer.state @hidden {dims = ["B", 1, "P", 16], capacity = 64 : i64} : tensor<?x1x?x16xf32>
// CHECK: state @given {capacity = 64 : i64, dims = ["B", 1, "P", 16]}
transformer.state @given {dims = ["B", 1, "P", 16], capacity = 64 : i64} : tensor<?x1x?x16xf32>

func.func @step(%x: tensor<?x1x1x16xf32>,
                %p: tensor<?xi32> {transformer.name = "p", transformer.dims = ["B"], transformer.default = {rows_before = "P"}})
    -> (tensor<?x1x1x16xf32>, tensor<?x1x1x16xf32>, tensor<?x1x1x16xf32>, tensor<?x1x1x16xf32>, tensor<?x1x1x16xf32>, tensor<?x1x?x16xf32>) {
  %zero = arith.constant 0 : i32
  %causal = transformer.mask.causal offset(%p : tensor<?xi32>)
  %near = transformer.mask.window before = 7 after = 0 offset(%p : tensor<?xi32>)
  %far = transformer.mask.window before = 30 after = 0 offset(%p : tensor<?xi32>)
  %start = transformer.mask.window before = 7 after = 0 offset(%zero : i32)
  %both = transformer.mask.and %causal, %near
  %any = transformer.mask.or %near, %far
  %open = transformer.mask.or %near, %causal
  %a = transformer.cache.append @and, %x at(%p : tensor<?xi32>) : tensor<?x1x1x16xf32> -> tensor<?x1x?x16xf32>
  %y0 = transformer.attention %x, %a, %a mask(%both) {scale = 1.0 : f32} : (tensor<?x1x1x16xf32>, tensor<?x1x?x16xf32>, tensor<?x1x?x16xf32>) -> tensor<?x1x1x16xf32>
  %w = transformer.cache.append @widest, %x at(%p : tensor<?xi32>) : tensor<?x1x1x16xf32> -> tensor<?x1x?x16xf32>
  %y1 = transformer.attention %x, %w, %w mask(%any) {scale = 1.0 : f32} : (tensor<?x1x1x16xf32>, tensor<?x1x?x16xf32>, tensor<?x1x?x16xf32>) -> tensor<?x1x1x16xf32>
  %e = transformer.cache.append @either, %x at(%p : tensor<?xi32>) : tensor<?x1x1x16xf32> -> tensor<?x1x?x16xf32>
  %y2 = transformer.attention %x, %e, %e mask(%open) {scale = 1.0 : f32} : (tensor<?x1x1x16xf32>, tensor<?x1x?x16xf32>, tensor<?x1x?x16xf32>) -> tensor<?x1x1x16xf32>
  %s = transformer.cache.append @elsewhere, %x at(%p : tensor<?xi32>) : tensor<?x1x1x16xf32> -> tensor<?x1x?x16xf32>
  %y3 = transformer.attention %x, %s, %s mask(%start) {scale = 1.0 : f32} : (tensor<?x1x1x16xf32>, tensor<?x1x?x16xf32>, tensor<?x1x?x16xf32>) -> tensor<?x1x1x16xf32>
  %h = transformer.cache.append @hidden, %x at(%p : tensor<?xi32>) : tensor<?x1x1x16xf32> -> tensor<?x1x?x16xf32>
  %y4 = transformer.attention %x, %h, %h mask(%near) {hidden_score = -100.0 : f32, scale = 1.0 : f32} : (tensor<?x1x1x16xf32>, tensor<?x1x?x16xf32>, tensor<?x1x?x16xf32>) -> tensor<?x1x1x16xf32>
  %g = transformer.cache.append @given, %x at(%p : tensor<?xi32>) : tensor<?x1x1x16xf32> -> tensor<?x1x?x16xf32>
  return %y0, %y1, %y2, %y3, %y4, %g : tensor<?x1x1x16xf32>, tensor<?x1x1x16xf32>, tensor<?x1x1x16xf32>, tensor<?x1x1x16xf32>, tensor<?x1x1x16xf32>, tensor<?x1x?x16xf32>
}
