# SPDX-License-Identifier: Apache-2.0
leadline record alexnet --infer --dry-run --batch 3 --json -o a.llt
