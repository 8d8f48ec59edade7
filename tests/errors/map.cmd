# Mappings that cannot be: loops that do not make up a dimension, stores and dimensions that there are not, axes that
# are too short; and mappings of ops.
leadline map -c zigzag_gemm_l1 --mapping '@l1 M8 @reg_O' M=64 N=64 K=64
leadline map -c zigzag_gemm_l1 --mapping '@l2 M8' M=64 N=64 K=64
leadline map -c zigzag_gemm_l1 --mapping '@l1 OX8' M=64 N=64 K=64
leadline map -c zigzag_gemm_l1 --mapping '@l1 N8 K8 M16:D1' M=16 N=8 K=8
leadline map -c zigzag_gemm_l1 M=64 Q7=64
leadline map -c v100_sxm_16gb M=64 N=64 K=64
leadline map -c zigzag_gemm_l1 --objective fun M=64 N=64 K=64
