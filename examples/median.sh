#!/bin/sh
# A curator in shell and awk: publishes the lower median of x, again after every deletion.
# One JSON object per line comes in, one goes out.
while IFS= read -r line; do
  case $line in
  *'"op":"start"'*)
    people=$(printf '%s\n' "$line" | tr '{' '\n' |
      sed -n 's/.*"id":"\([^"]*\)","x":\(-\{0,1\}[0-9.]*\).*/\1 \2/p')
    ;;
  *'"op":"delete"'*)
    left=$people
    for id in $(printf '%s\n' "$line" | sed 's/.*\[\(.*\)\].*/\1/' | tr -d '"' | tr ',' ' '); do
      if ! printf '%s\n' "$left" | awk -v id="$id" '$1 == id { found = 1 } END { exit !found }'; then
        echo '{"error":"no such record"}'
        continue 2
      fi
      left=$(printf '%s\n' "$left" | awk -v id="$id" '$1 != id')
    done
    people=$left
    ;;
  *)
    echo '{"error":"unknown operation"}'
    continue
    ;;
  esac
  printf '%s\n' "$people" | sort -n -k 2 |
    awk 'NF { x[++n] = $2 } END { printf "{\"output\":%s}\n", n ? x[int((n + 1) / 2)] : "null" }'
done
