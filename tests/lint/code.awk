# SPDX-License-Identifier: Apache-2.0
# Prints FILE:LINE:code of C files, comments and the insides of texts removed, so that a search finds code alone.
FNR == 1 { in_comment = 0 }
{
    code = ""
    rest = $0
    while (rest != "") {
        if (in_comment) {
            end = index(rest, "*/")
            if (!end)
                break
            rest = substr(rest, end + 2)
            in_comment = 0
        } else if (match(rest, /^"([^"\\]|\\.)*"/) && code !~ /#include *$/) {
            code = code "\"\""
            rest = substr(rest, RLENGTH + 1)
        } else if (match(rest, /^'([^'\\]|\\.)+'/)) {
            code = code "' '"
            rest = substr(rest, RLENGTH + 1)
        } else if (substr(rest, 1, 2) == "/*") {
            in_comment = 1
            rest = substr(rest, 3)
        } else {
            code = code substr(rest, 1, 1)
            rest = substr(rest, 2)
        }
    }
    if (code ~ /[^ \t]/)
        print FILENAME ":" FNR ":" code
}
