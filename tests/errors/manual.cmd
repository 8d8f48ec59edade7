# SPDX-License-Identifier: Apache-2.0
leadline manual smi
