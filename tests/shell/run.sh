#!/bin/sh
# run.sh WEIR TRANSCRIPT: runs the commands of a transcript and compares what they print.
#
#   $ command        run by sh in an empty directory, with weir in the PATH, stdout and stderr as one
#   > more of it
#   | a line of what it prints; a lone | is an empty line, a carriage return is shown as ␍
#   ? 1              its exit status, if it is not 0
#
# Other lines are comments. A line that does not end with a newline is printed like one that does.
set -u
weir=$1
transcript=$2
directory=$(mktemp -d) || exit 1
trap 'rm -rf "$directory"' EXIT
mkdir "$directory/bin" "$directory/work" "$directory/home"
ln -s "$(realpath "$weir")" "$directory/bin/weir"
PATH=$directory/bin:$PATH
HOME=$directory/home
LC_ALL=C.UTF-8
TZ=UTC
export PATH HOME LC_ALL TZ
unset XDG_STATE_HOME COLUMNS

command=

# Runs the command read before, and writes down what it does as a transcript has it.
flush() {
    if [ -z "$command" ]; then return; fi
    printf '%s\n' "$command" | sed -e '1s/^/$ /' -e '2,$s/^/> /'
    (cd "$directory/work" && sh -c "$command" </dev/null >../printed 2>&1)
    status=$?
    sed -e 's/\r/␍/g' -e 's/^/| /' -e 's/^| $/|/' "$directory/printed"
    # sed keeps a last line without newline as it is.
    if [ -n "$(tail -c 1 "$directory/printed")" ]; then echo; fi
    if [ $status -ne 0 ]; then echo "? $status"; fi
    command=
}

while IFS= read -r line; do
    case $line in
    '$ '*)
        flush
        command=${line#'$ '}
        ;;
    '> '*)
        command="$command
${line#'> '}"
        ;;
    '|'* | '? '*) ;;
    *)
        flush
        printf '%s\n' "$line"
        ;;
    esac
done <"$transcript" >"$directory/actual"
flush >>"$directory/actual"

diff -u "$transcript" "$directory/actual"
