//===- maps-invalid.mlir - Feature maps: broken constraints ---------------===//
// Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: heddle-opt %s -split-input-file -verify-diagnostics

func.func @windows_c1_channels(%x: tensor<?x4x5x?xf32>) {
  // expected-error @+1 {{'transformer.windows' op C1: expected static channels of map, found dynamic ones}}
  %y = transformer.windows %x {size = 3 : i64} : tensor<?x4x5x?xf32> -> tensor<?x2x3x9xf32>
  return
}

// -----

func.func @windows_c2_stride(%x: tensor<?x4x5x6xf32>) {
  // expected-error @+1 {{'transformer.windows' op C2: expected a positive size and stride, and a padding from 0 to 2, found 3, 0 and 0}}
  %y = transformer.windows %x {size = 3 : i64, stride = 0 : i64} : tensor<?x4x5x6xf32> -> tensor<?x2x3x54xf32>
  return
}

// -----

func.func @windows_c2_padding(%x: tensor<?x4x5x6xf32>) {
  // expected-error @+1 {{'transformer.windows' op C2: expected a positive size and stride, and a padding from 0 to 2, found 3, 1 and 3}}
  %y = transformer.windows %x {padding = 3 : i64, size = 3 : i64} : tensor<?x4x5x6xf32> -> tensor<?x8x9x54xf32>
  return
}

// -----

func.func @windows_c3_result(%x: tensor<?x4x5x6xf32>) {
  // expected-error @+1 {{'transformer.windows' op C3: dimension 2 of the result: expected 3 in [?, 2, 3, 54], found [?, 2, 4, 54]}}
  %y = transformer.windows %x {size = 3 : i64} : tensor<?x4x5x6xf32> -> tensor<?x2x4x54xf32>
  return
}

// -----

func.func @max_pool_c1_features(%x: tensor<?x4x5x?xf32>) {
  // expected-error @+1 {{'transformer.max_pool' op C1: expected static features of map, found dynamic ones}}
  %y = transformer.max_pool %x {size = 2 : i64} : tensor<?x4x5x?xf32> -> tensor<?x3x4x6xf32>
  return
}

// -----

func.func @max_pool_c2_padding(%x: tensor<?x4x5x6xf32>) {
  // expected-error @+1 {{'transformer.max_pool' op C2: expected a positive size and stride, and a padding from 0 to 1, found 2, 1 and 2}}
  %y = transformer.max_pool %x {padding = 2 : i64, size = 2 : i64} : tensor<?x4x5x6xf32> -> tensor<?x7x8x6xf32>
  return
}

// -----

func.func @max_pool_c3_result(%x: tensor<?x4x5x6xf32>) {
  // expected-error @+1 {{'transformer.max_pool' op C3: dimension 3 of the result: expected 6 in [?, 3, 4, 6], found [?, 3, 4, 24]}}
  %y = transformer.max_pool %x {size = 2 : i64} : tensor<?x4x5x6xf32> -> tensor<?x3x4x24xf32>
  return
}

// -----

func.func @map_rows_c1_features(%x: tensor<?x4x5x?xf32>) {
  // expected-error @+1 {{'transformer.map_rows' op C1: expected static features of map, found dynamic ones}}
  %y = transformer.map_rows %x : tensor<?x4x5x?xf32> -> tensor<?x20x6xf32>
  return
}

// -----

func.func @map_rows_c2_result(%x: tensor<?x4x5x6xf32>) {
  // expected-error @+1 {{'transformer.map_rows' op C2: dimension 1 of the result: expected 20 in [?, 20, 6], found [?, 9, 6]}}
  %y = transformer.map_rows %x : tensor<?x4x5x6xf32> -> tensor<?x9x6xf32>
  return
}

// -----

func.func @slice_rows_c1_rank(%x: tensor<?x6xf32>) {
  // expected-error @+1 {{'transformer.slice_rows' op C1: expected rows of rank 3 [batch, rows, features], found rank 2}}
  %y = transformer.slice_rows %x {count = 1 : i64, first = 0 : i64} : tensor<?x6xf32> -> tensor<?x1x6xf32>
  return
}

// -----

func.func @slice_rows_c2_range(%x: tensor<?x9x6xf32>) {
  // expected-error @+1 {{'transformer.slice_rows' op C2: expected a positive count of rows that exist, found 4 from 6}}
  %y = transformer.slice_rows %x {count = 4 : i64, first = 6 : i64} : tensor<?x9x6xf32> -> tensor<?x4x6xf32>
  return
}

// -----

func.func @slice_rows_c3_result(%x: tensor<?x9x6xf32>) {
  // expected-error @+1 {{'transformer.slice_rows' op C3: dimension 1 of the result: expected 3 in [?, 3, 6], found [?, 4, 6]}}
  %y = transformer.slice_rows %x {count = 3 : i64, first = 6 : i64} : tensor<?x9x6xf32> -> tensor<?x4x6xf32>
  return
}

// -----

func.func @repeat_rows_c1_result(%x: tensor<?x4x5x6xf32>, %table: tensor<7x8xf32>) {
  // expected-error @+1 {{'transformer.repeat_rows' op C1: dimension 2 of the result: expected 8 in [?, 7, 8], found [?, 7, 6]}}
  %y = transformer.repeat_rows %x, %table : (tensor<?x4x5x6xf32>, tensor<7x8xf32>) -> tensor<?x7x6xf32>
  return
}

// -----

func.func @plane_c1_features(%x: tensor<?x4x5x6xf32>) {
  // expected-error @+1 {{'transformer.position.plane' op C1: expected features as a positive multiple of 4, found 6}}
  %y = transformer.position.plane %x {features = 6 : i64} : tensor<?x4x5x6xf32> -> tensor<?x20x6xf32>
  return
}

// -----

func.func @plane_c2_temperature(%x: tensor<?x4x5x6xf32>) {
  // expected-error @+1 {{'transformer.position.plane' op C2: expected a finite temperature of at least 1, found}}
  %y = transformer.position.plane %x {features = 8 : i64, temperature = 0.5 : f64} : tensor<?x4x5x6xf32> -> tensor<?x20x8xf32>
  return
}

// -----

func.func @plane_c3_result(%x: tensor<?x4x5x6xf32>) {
  // expected-error @+1 {{'transformer.position.plane' op C3: dimension 2 of the result: expected 8 in [?, 20, 8], found [?, 20, 6]}}
  %y = transformer.position.plane %x {features = 8 : i64} : tensor<?x4x5x6xf32> -> tensor<?x20x6xf32>
  return
}

// -----

func.func @resized_c1_columns(%x: tensor<?x4x5x6xf32>, %table: tensor<12x8xf32>) {
  // expected-error @+1 {{'transformer.position.resized' op C1: expected columns that divide the 12 rows of table, found 5}}
  %y = transformer.position.resized %x, %table {columns = 5 : i64} : (tensor<?x4x5x6xf32>, tensor<12x8xf32>) -> tensor<?x20x8xf32>
  return
}

// -----

func.func @resized_c2_result(%x: tensor<?x4x5x6xf32>, %table: tensor<12x8xf32>) {
  // expected-error @+1 {{'transformer.position.resized' op C2: dimension 1 of the result: expected 20 in [?, 20, 8], found [?, 21, 8]}}
  %y = transformer.position.resized %x, %table {columns = 4 : i64} : (tensor<?x4x5x6xf32>, tensor<12x8xf32>) -> tensor<?x21x8xf32>
  return
}
