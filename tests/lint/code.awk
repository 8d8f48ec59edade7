# SPDX-License-Identifier: Apache-2.0
# Prints FILE:LINE:text of one part of C files: -v part=code (the default; comments and the insides of strings
# removed), part=strings (insides of strings but for names of included files) or part=comments.
FNR == 1 { in_comment = 0 }
{
    code = strings = comments = ""
    rest = $0
    while (rest != "") {
        if (in_comment) {
            end = index(rest, "*/")
            comments = comments (end ? substr(rest, 1, end - 1) : rest)
            if (!end)
                break
            rest = substr(rest, end + 2)
            in_comment = 0
        } else if (match(rest, /^"([^"\\]|\\.)*"/) && code !~ /#include *$/) {
            strings = strings " " substr(rest, 2, RLENGTH - 2)
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
    shown = part == "strings" ? strings : part == "comments" ? comments : code
    if (shown ~ /[^ \t]/)
        print FILENAME ":" FNR ":" shown
}
