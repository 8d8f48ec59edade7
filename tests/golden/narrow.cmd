# SPDX-License-Identifier: Apache-2.0
# Tables on a narrow screen: none is wider than 80, columns to spare are left out, texts are wrapped.
export COLUMNS=80
for words in models "models alexnet" machines ops "info traces/alexnet_train_b8.llt" \
    "sim --per-op -c custom_example traces/alexnet_train_b8.llt"; do
    # shellcheck disable=SC2086 # words are meant to be split
    leadline $words | awk -v words="$words" '
        length > widest { widest = length }
        END { print words ": " (widest <= 80 ? "fits" : widest " wide") }'
done
leadline models alexnet
