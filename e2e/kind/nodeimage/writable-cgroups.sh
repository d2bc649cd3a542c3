# Read by the entrypoint of a node. A container that is not --privileged has its control
# groups read-only, and a kubelet must make groups of its own.
mount -o remount,rw /sys/fs/cgroup || true
for mounted in $(findmnt -lun -o target -t cgroup,cgroup2); do
	mount -o remount,rw,bind "$mounted" || log_warn "$mounted stays read-only"
done
