//===- finish-spirv.mlir - One conversion to SPIR-V -*- mlir -*-===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Conversion of the remaining dialects to SPIR-V. Ops that round separately are not
// contracted. A loop without iterations yields its initial values.

// RUN: heddle-opt %s --split-input-file --finish-spirv | FileCheck %s
// RUN: heddle-opt %s --split-input-file --finish-spirv --check-dialects=allowed=spirv,func

// CHECK-LABEL: func.func @do_nothing
func.func @do_nothing() {
  return
}

// -----

// CHECK-LABEL: spirv.module @arithmetic Logical GLSL450 requires #spirv.vce<v1.3, [Shader], []>
// CHECK-SAME: workgroup = array<i32: 32, 1, 1>
module {
module @arithmetic attributes {kernel.workgroup = array<i32: 32, 1, 1>} {
  spirv.func @main(%a: vector<4xf32>, %b: vector<4xf32>, %i: vector<4xi32>) -> vector<4xf32> "None" {
    // CHECK: spirv.FMul %{{.*}} {no_contraction} : vector<4xf32>
    %0 = arith.mulf %a, %b : vector<4xf32>
    // CHECK: spirv.FAdd %{{.*}} {no_contraction} : vector<4xf32>
    %1 = arith.addf %0, %b : vector<4xf32>
    // CHECK: spirv.GL.Fma
    %2 = math.fma %1, %a, %b : vector<4xf32>
    // CHECK: spirv.GL.RoundEven
    %3 = math.roundeven %2 : vector<4xf32>
    // CHECK-NOT: spirv.IsNan
    // CHECK: spirv.GL.FMax
    %4 = arith.maxnumf %3, %a : vector<4xf32>
    // CHECK: spirv.GL.Exp2
    %5 = math.exp2 %4 : vector<4xf32>
    // CHECK: spirv.ConvertFToS
    %6 = arith.fptosi %5 : vector<4xf32> to vector<4xi32>
    // CHECK: spirv.ShiftLeftLogical
    %7 = arith.shli %6, %i : vector<4xi32>
    // CHECK: spirv.Bitcast
    %8 = arith.bitcast %7 : vector<4xi32> to vector<4xf32>
    // CHECK: spirv.GL.Sqrt
    %9 = math.sqrt %8 : vector<4xf32>
    spirv.ReturnValue %9 : vector<4xf32>
  }
}
}

// -----

// CHECK-LABEL: spirv.module @empty_loop
module {
module @empty_loop attributes {kernel.workgroup = array<i32: 1, 1, 1>} {
  spirv.func @main(%n: i32, %a: f32) -> f32 "None" {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    // CHECK: %[[R:.*]] = spirv.mlir.loop -> f32 {
    // CHECK: spirv.Branch ^[[HEADER:.*]](%{{.*}}, %{{.*}} : i32, f32)
    // CHECK: ^[[HEADER]](%[[I:.*]]: i32, %[[X:.*]]: f32):
    // CHECK: spirv.SLessThan %[[I]]
    // CHECK: spirv.BranchConditional
    // CHECK: %[[Y:.*]] = spirv.FAdd %[[X]], %[[X]]
    // CHECK: %[[NEXT:.*]] = spirv.IAdd %[[I]]
    // CHECK: spirv.Branch ^[[HEADER]](%[[NEXT]], %[[Y]] : i32, f32)
    // CHECK: spirv.mlir.merge %[[X]] : f32
    %s = scf.for %i = %c0 to %n step %c1 iter_args(%x = %a) -> (f32) : i32 {
      %y = arith.addf %x, %x : f32
      scf.yield %y : f32
    }
    // CHECK: spirv.ReturnValue %[[R]]
    spirv.ReturnValue %s : f32
  }
}
}

// -----

// The result of an inner loop reaches the header of the outer loop through a variable.
// CHECK-LABEL: spirv.module @nested_loops
module {
module @nested_loops attributes {kernel.workgroup = array<i32: 1, 1, 1>} {
  spirv.func @main(%n: i32, %a: f32) -> f32 "None" {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    // CHECK: spirv.mlir.loop -> f32 {
    // CHECK: ^[[HEADER:.*]](%{{.*}}: i32, %[[X:.*]]: f32):
    %s = scf.for %i = %c0 to %n step %c1 iter_args(%x = %a) -> (f32) : i32 {
      // CHECK: %[[VARIABLE:.*]] = spirv.Variable : !spirv.ptr<f32, Function>
      // CHECK: %[[INNER:.*]] = spirv.mlir.loop -> f32 {
      %t = scf.for %j = %c0 to %i step %c1 iter_args(%y = %x) -> (f32) : i32 {
        %z = arith.addf %y, %y : f32
        scf.yield %z : f32
      }
      // CHECK: spirv.Store "Function" %[[VARIABLE]], %[[INNER]]
      // CHECK: %[[COPY:.*]] = spirv.Load "Function" %[[VARIABLE]]
      // CHECK: spirv.Branch ^[[HEADER]](%{{.*}}, %[[COPY]] : i32, f32)
      scf.yield %t : f32
    }
    spirv.ReturnValue %s : f32
  }
}
}
