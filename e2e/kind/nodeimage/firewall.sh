#!/bin/bash
# Copies what kube-proxy calls, with its libraries, to /out: it runs in the base image.
set -euo pipefail
programs=(/usr/sbin/xtables-nft-multi /usr/sbin/nft /usr/sbin/conntrack)
plugins=(/usr/lib/*-linux-gnu/xtables/*.so)
mkdir -p /out/usr/sbin /out/etc /out/run /out/tmp
cp -a "${programs[@]}" /out/usr/sbin/
for name in iptables iptables-save iptables-restore ip6tables ip6tables-save ip6tables-restore; do
	ln -s xtables-nft-multi "/out/usr/sbin/$name"
done
# Where a library really is, with /lib taken for /usr/lib, as on the base.
{ ldd "${programs[@]}" "${plugins[@]}" 2>/dev/null || true; } | grep -o '/[^ ]*\.so[^ ]*' | grep -v ':$' | sort -u |
	while read -r library; do
		target=/out$(realpath "$(dirname "$library")")
		mkdir -p "$target"
		cp -L "$library" "$target/"
	done
cp -a --parents "${plugins[@]}" /out/
for dir in lib lib64 sbin; do
	ln -s "usr/$dir" "/out/$dir"
done
