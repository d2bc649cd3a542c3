#!/bin/bash
# Serves a folder at the address of its pod: serve.sh FOLDER
set -euo pipefail
printf 'use chroot = no\nuid = 0\ngid = 0\n[data]\npath = %s\nread only = no\n' "$1" >rsyncd.conf
exec rsync --daemon --no-detach --config=rsyncd.conf --address="$POD_IP" --port=8730
