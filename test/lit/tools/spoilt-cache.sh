#!/bin/sh
# Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Runs a command on a new cache folder with any permissions allowed, lists those of what is kept, and runs it again: on a folder
# in the place of the compiled file, and with its name replaced by a path.
#
# usage: spoilt-cache.sh FOLDER COMMAND…
folder=$1
shift
umask 0
"$@" && cd "$folder" && stat -c '%a %n' . folder-* model-*
name=$(echo model-*.heddle)
rm "$name" && mkdir -p "$name/inner"
"$@"
key=../../../../../../../../../../../../../../../../../../etc/passwd
printf %.64s "$key/////////////////////////////////////////////////////" > "$(echo folder-*.txt)"
"$@" && test -f "$name" && grep -qx '[0-9a-f]*' folder-*.txt && echo whole
