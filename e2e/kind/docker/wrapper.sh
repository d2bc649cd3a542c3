#!/bin/sh
# docker for a machine on which CAP_SYS_RESOURCE is not to be had. A container that is
# --privileged asks for every capability, and the kernel refuses. This asks for all but
# that one, and for what --privileged brings besides. It never asks for more.
unprivileged() {
	for arg in "$@"; do
		shift
		if [ "$arg" != --privileged ]; then
			set -- "$@" "$arg"
		elif [ "$verb" != exec ]; then
			set -- "$@" --cap-add ALL --cap-drop SYS_RESOURCE --security-opt systempaths=unconfined \
				--device /dev/kmsg --device-cgroup-rule 'a *:* rwm'
		fi
	done
	exec "$DOCKER" "$@"
}
verb=$1
unprivileged "$@"
