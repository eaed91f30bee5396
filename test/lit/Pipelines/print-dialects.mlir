// RUN: heddle-opt %s --check-dialects=print 2>&1 | FileCheck %s

// CHECK: remark: dialects: func, tensor
func.func @f() -> tensor<1xf32> {
  %0 = tensor.empty() : tensor<1xf32>
  return %0 : tensor<1xf32>
}
