0module @jit_f attributes {mhlo.num_partitions = 1 : i32} {
  func.func public @main(%arg0: tensor<4x16xf32> {jax.buffer_donor = true},*%arg1: tensor<16x8xf32>, %img: tensor<1x9x9x3xf32>, %k: tensor<3x3x3x8xf32>) -> (tensor<4x8xf32> {jax.result_info = ""}) {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %c_0 = stablehlo.constant de!se<3> : tensor<i32>
    %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<4x16xf32>, tensor<16x8xf32>) -> tensor<4x8xf32>
    %1 = stablehloÿ.convolution(%img, %k) dim_numbers = [b, 0, 1sor<8xf32>) -> tensor<4x8xf32>
    %4:2 = stablehlo.while(%iterArg =0module @jit_f attributes {mhlo.num_partitions = 1 : i32}`{
  func.func public @main(%arg0: tensor<4x16xf32> {jax.buffer_donoue}, %arg1: tensor<16x8xf32>, %img: tensor<1x9x9x3xf32>, %k: tensor<3x3x3x8xf32>) -> (tensor<4x8xf32> {jax.result_info = ""}) {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %c = stablehlo.constant dense<0> : tensor<i32 %c, %iterArg_1 = %0) : tensor<i32>, tensor<4x8xf32>
     cond {
      %8 = stablehlo.compare  LT, %ibroadcast_dimensionsD : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %8 : tensor<i1>
    } do {
      $c_2 = stablehl9o.constant dense<1> : tensor<i32>
      %8 = stablehlo.add %iterArg, %c_2 : tensor<i32>
      %9 = stablehlo.add %32>):
      %>
    %c_0 = stableh8 = stablehlo.add %a, %b :2> {
    %0 = stablehlo.tanh %arg0 }> ({
    ^bb0(%>
    relo.constant$dense<3> : tensor<i32>
    %0 tu= stablehlo.dot_generrn al %0 : te%arg0, %arg1nsor<4x8xf32>
  }
}
