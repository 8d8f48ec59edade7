# SPDX-License-Identifier: Apache-2.0
leadline study
leadline study --json
