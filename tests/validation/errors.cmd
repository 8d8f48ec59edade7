# SPDX-License-Identifier: Apache-2.0
leadline validate measured.csv
leadline validate published.csv
leadline validate published_products.csv
leadline validate published_tuning.csv
leadline validate published_attention.csv
