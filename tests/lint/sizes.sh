#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A function of more than 80 lines or a file of more than 1000 says in its first comment why it is one, in a
# sentence with the words "One function because" or "One file because". sizes.sh [ROOT] looks at another tree.
cd "${1:-$(dirname "$0")/../..}" || exit 1
find tracer models sim tests -name '*.[ch]' | sort | xargs awk '
    function end_of_file() {
        if (lines > 1000 && !file_says_why) {
            print file ": " lines " lines; a file of more than 1000 says \"One file because ...\""
            breaches++
        }
    }
    FNR == 1 {
        end_of_file()
        file = FILENAME
        file_says_why = comment_says_why = opened = comments = 0
    }
    { lines = FNR }
    /^\/\*/ { comments++; comment_says_why = 0 }
    comments <= 2 && /One file because/ { file_says_why = 1 }
    /One function because/ { comment_says_why = 1 }
    /^\{/ { opened = FNR }
    /^\}/ && opened {
        if (FNR - opened > 80 && !comment_says_why) {
            print FILENAME ":" opened ": a function of " FNR - opened - 1 " lines"
            breaches++
        }
        opened = comment_says_why = 0
    }
    END { end_of_file(); exit breaches > 0 }'
