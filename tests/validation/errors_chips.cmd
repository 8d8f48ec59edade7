# SPDX-License-Identifier: Apache-2.0
leadline validate published_chips.csv
