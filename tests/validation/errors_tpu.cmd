# SPDX-License-Identifier: Apache-2.0
# How far it is stands on the error output, where it takes long.
leadline validate published_tpu.csv 2>/dev/null
