# SPDX-License-Identifier: Apache-2.0
leadline machines custom_example --json
