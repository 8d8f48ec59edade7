# SPDX-License-Identifier: Apache-2.0
# What may stand at a place of a command line: commands, options, machines, stacks, models, keys and their values now,
# types, formats; nothing where files are meant.
leadline completion --at 0 -- si
leadline completion --at 2 -- sim -c custom_ex
leadline completion --at 2 -- sim -c v100_sxm_16gb+py
leadline completion --at 1 -- sim --me
leadline completion --at 4 -- sim -c custom_example --set units.array.r
leadline completion --at 3 -- record alexnet -p im
leadline completion --at 2 -- sim --gemm-dtype nv
leadline completion --at 1 -- import stab
leadline completion --at 1 -- schema mach
leadline completion --at 4 -- sim -c custom_example t
leadline completion bash
