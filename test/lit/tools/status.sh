#!/bin/sh
# Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Fails unless the command exits with N and writes exactly one line to stderr; prints that line.
#
# usage: status.sh N COMMAND…
expected=$1
shift
all=$("$@" 2>&1 >/dev/null; echo "status $?")
found=${all##*status }
text=${all%status *}
printf '%s' "$text"
lines=$(printf '%s' "$text" | wc -l)
case $text in
*'
' | '') ;;
*) lines=$((lines + 1)) ;; # the last one has no end
esac
if [ "$found" != "$expected" ] || [ "$lines" != 1 ]; then
  echo "expected status $expected and one line, found status $found and $lines lines: $text" >&2
  exit 1
fi
