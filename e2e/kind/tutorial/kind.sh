#!/bin/sh
# kind, with the settings that this machine and its node image ask for: each cluster is made
# from the configuration that was adapted beforehand.
case "$1 $2" in
"create cluster")
	for arg in "$@"; do
		shift
		case "$arg" in
		config/samples/*) set -- "$@" "$ADAPTED" ;;
		*) set -- "$@" "$arg" ;;
		esac
	done
	;;
esac
exec "$REAL_KIND" "$@"
