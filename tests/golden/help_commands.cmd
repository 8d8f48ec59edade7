# SPDX-License-Identifier: Apache-2.0
for command in record train info dump verify sim cache validate study models ops machines explain; do
    echo "\$ leadline $command --help"
    leadline $command --help
    echo
done
