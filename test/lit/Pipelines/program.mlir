// The stage `program` holds these dialects and no others.
// RUN: heddle-opt %S/transformer.mlir --heddle-to-program --check-dialects=allowed=kernel,transformer,arith,tensor | FileCheck %s

// CHECK: kernel.program @encode
// CHECK: kernel.launch
// CHECK-NOT: func.func
