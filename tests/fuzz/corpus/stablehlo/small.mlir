0module @jit_f attributes {mhlo.num_partitions = 1 : i32} {
  func.func public @main(%arg0: tensor<4x16xf32> {jax.buffer_donor = true}, %arg1: tensor<16x8xf32>, %img: tensor<1x9x9x3xf32>, %k: tensor<3x3x3x8xf32>) -> (tensor<4x8xf32> {jax.result_info = ""}) {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %c_0 = stablehlo.constant dense<3> : tensor<i32>
    %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<4x16xf32>, tensor<16x8xf32>) -> tensor<4x8xf32>
    %1 = stablehlo.convolution(%img, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [2, 2], pad = [[0, 0], [0, 0]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x9x9x3xf32>, tensor<3x3x3x8xf32>) -> tensor<1x4x4x8xf32>
    %2 = stablehlo.reduce(%0 init: %cst) applies stablehlo.add across dimensions = [0] : (tensor<4x8xf32>, tensor<f32>) -> tensor<8xf32>
    %3 = stablehlo.broadcast_in_dim %2, dims = [1] : (tensor<8xf32>) -> tensor<4x8xf32>
    %4:2 = stablehlo.while(%iterArg = %c, %iterArg_1 = %0) : tensor<i32>, tensor<4x8xf32>
     cond {
      %8 = stablehlo.compare  LT, %iterArg, %c_0,  SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %8 : tensor<i1>
    } do {
      %c_2 = stablehlo.constant dense<1> : tensor<i32>
      %8 = stablehlo.add %iterArg, %c_2 : tensor<i32>
      %9 = stablehlo.add %iterArg_1, %3 : tensor<4x8xf32> // taken from around the loop
      stablehlo.return %8, %9 : tensor<i32>, tensor<4x8xf32>
    }
    %5 = call @g(%4#1) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %6 = "stablehlo.all_reduce"(%5) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %8 = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %8 : tensor<f32>
    }) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    return %6 : tensor<4x8xf32>
  }
  func.func private @g(%arg0: tensor<4x8xf32>) -> tensor<4x8xf32> {
    %0 = stablehlo.tanh %arg0 : tensor<4x8xf32>
    return %0 : tensor<4x8xf32>
  }
}
