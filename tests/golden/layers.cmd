# SPDX-License-Identifier: Apache-2.0
# Layers, with what follows them in a pipeline, on NVDLA by its sheet, which has 895 and 591 us an image (of 16).
leadline sim --as int8 --batch 16 -c nvdla_sheet -c nvdla_sheet_sram traces/alexnet_infer_b1.llt
leadline sim --as int8 --batch 16 -c nvdla_sheet --explain 1 traces/alexnet_infer_b1.llt
