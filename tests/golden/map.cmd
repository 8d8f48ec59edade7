# What a mapping costs: searched, given, written in another notation, as JSON.
leadline map -c zigzag_gemm_l1 M=64 N=64 K=64
leadline map -c zigzag_gemm_l1 --objective energy --json M=16 N=16 K=16 | head -30
leadline map -c timeloop_conv1d_3level --mapping '@MainMemory[Weights Inputs Outputs] @GlobalBuffer[Weights Inputs Outputs] K16 P16 @RegisterFile K2 R3' K=32 R=3 P=16
leadline map -c timeloop_conv1d_3level --notation timeloop --mapping '@MainMemory @GlobalBuffer K16 P16 @RegisterFile K2 R3' K=32 R=3 P=16
