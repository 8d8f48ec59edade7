# SPDX-License-Identifier: Apache-2.0
leadline models --suite micro
leadline models gemm
leadline models gemm --json
