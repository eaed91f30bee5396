// RUN: heddle-opt %s --split-input-file --verify-diagnostics --check-dialects=allowed=func,arith

func.func @do_nothing() {
  return
}

// -----

func.func @listed() -> i32 {
  %0 = arith.constant 1 : i32
  return %0 : i32
}

// -----

func.func @not_listed() -> tensor<1xf32> {
  // expected-error @+1 {{'tensor.empty' op expected an op of the dialects func, arith, found one of tensor}}
  %0 = tensor.empty() : tensor<1xf32>
  return %0 : tensor<1xf32>
}
