# SPDX-License-Identifier: Apache-2.0
# The same as text, CSV, JSON and Markdown; --top cuts tables.
T=traces/alexnet_infer_b1.llt
leadline sim -c h100_sxm -c custom_example --format markdown $T
leadline sim -c h100_sxm --top 2 --format markdown $T
leadline sim -c h100_sxm -c custom_example --format csv $T | cut -d, -f1-12
leadline sim -c h100_sxm --per-op --format csv --top 2 $T | cut -d, -f1-20
leadline sim -c h100_sxm --what-if --format csv $T | head -3
leadline sim -c custom_example --explain 3 --format csv $T | head -3
leadline sim -c h100_sxm --top 2 $T
leadline info --top 2 --format csv $T
leadline verify --format csv $T
leadline verify --format json $T >one
leadline verify --json $T >two
cmp one two && echo "--format json is --json"
leadline ops --top 2
leadline explain MFU --format csv
leadline explain MFU --format markdown
