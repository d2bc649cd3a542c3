#!/bin/bash
# Makes a kind node of the container that it runs in. /kind-files are those of kind's
# module, /source is this folder, /build has the programs and the images.
set -euo pipefail
version=$1

# What kind brings.
install -d /kind/bin /kind/manifests /etc/containerd /etc/systemd/system/kubelet.service.d /etc/kubernetes/manifests /etc/cni/net.d /opt/cni/bin
install -m755 /kind-files/usr/local/bin/entrypoint /usr/local/bin/
install -m755 /kind-files/kind/bin/*.sh /kind/bin/
install -m644 /kind-files/etc/crictl.yaml /etc/
install -m644 /kind-files/etc/containerd/config.toml /etc/containerd/
install -m644 /kind-files/etc/default/kubelet /etc/default/
install -m644 /kind-files/etc/sysctl.d/* /etc/sysctl.d/
install -m644 /kind-files/etc/systemd/system/*.service /kind-files/etc/systemd/system/*.slice /etc/systemd/system/
install -m644 /kind-files/etc/systemd/system/kubelet.service.d/* /etc/systemd/system/kubelet.service.d/

# Where kind looks for Debian's containerd and network plugins.
for program in containerd ctr containerd-shim-runc-v2; do ln -sf "/usr/bin/$program" "/usr/local/bin/$program"; done
install -m755 /source/crictl.sh /usr/local/bin/crictl
install -m755 /usr/lib/cni/{host-local,loopback,ptp,portmap} /opt/cni/bin/

# Kubernetes.
install -m755 /build/kubernetes /usr/bin/kubernetes
for role in kubelet kubeadm kubectl; do ln -sf kubernetes "/usr/bin/$role"; done
echo -n "$version" >/kind/version
install -m644 /source/storage.yaml /kind/manifests/default-storage.yaml
: >/kind/manifests/default-cni.yaml

# containerd makes the pod network of each node from its podCIDR: routes between nodes are
# up to who starts the cluster.
install -m644 /source/cni.json /etc/containerd/cni.json
cat >>/etc/containerd/config.toml <<'TOML'

[plugins."io.containerd.grpc.v1.cri".cni]
  bin_dir = "/opt/cni/bin"
  conf_dir = "/etc/cni/net.d"
  conf_template = "/etc/containerd/cni.json"
TOML
ctr oci spec |
	jq '.hooks.createContainer += [{"path": "/kind/bin/mount-product-files.sh"}] | del(.process.rlimits)' >/etc/containerd/cri-base.json

# On a machine without CAP_SYS_RESOURCE no score of the OOM killer can be lowered, and docker mounts
# the control groups read-only. Elsewhere neither line does harm.
sed -i 's/restrict_oom_score_adj = false/restrict_oom_score_adj = true/' /etc/containerd/config.toml
sed -i 's|^validate_userns$|. /kind/bin/writable-cgroups.sh\n&|' /usr/local/bin/entrypoint
install -m755 /source/writable-cgroups.sh /kind/bin/
grep -q writable-cgroups /usr/local/bin/entrypoint

# Pods leave the cluster with the address of their node, as with the network daemon of kind's own
# image. Between the pods of clusters that are routed to each other nothing is rewritten.
cat >/etc/nftables.conf <<'NFT'
table ip leave {
	chain postrouting {
		type nat hook postrouting priority srcnat;
		ip saddr 10.0.0.0/8 ip daddr != 10.0.0.0/8 oifname "eth0" masquerade
	}
}
NFT

# systemd starts what a node needs and nothing else.
rm -f /lib/systemd/system/sysinit.target.wants/systemd-tmpfiles-setup.service /lib/systemd/system/multi-user.target.wants/* \
	/etc/systemd/system/*.wants/* /lib/systemd/system/local-fs.target.wants/* /lib/systemd/system/sockets.target.wants/*{udev,initctl}* \
	/lib/systemd/system/basic.target.wants/*
echo ReadKMsg=no >>/etc/systemd/journald.conf
ln -sf /usr/lib/systemd/systemd /sbin/init
systemctl enable kubelet.service containerd.service nftables.service undo-mount-hacks.service
systemctl mask systemd-binfmt.service
: >/etc/machine-id

# The images that it has from the start.
containerd >/tmp/containerd.log 2>&1 &
containerd=$!
for ((i = 0; i < 300; i++)); do
	ctr version >/dev/null 2>&1 && break
	sleep 0.1
done
ctr -n k8s.io images import --all-platforms --no-unpack /build/parts.tar
kill $containerd
wait $containerd || true
rm -rf /tmp/containerd.log /run/containerd
