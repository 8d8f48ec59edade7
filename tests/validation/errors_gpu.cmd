# SPDX-License-Identifier: Apache-2.0
leadline validate measured_h100.csv
leadline validate measured_h200.csv
leadline validate measured_h200_again.csv
