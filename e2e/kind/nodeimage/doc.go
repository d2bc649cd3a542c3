// Package nodeimage builds a node image for kind out of Go modules and Debian packages,
// for machines on which no registry can be reached: one binary made from Kubernetes' own
// sources plays every part of a cluster, containerd and runc are Debian's, and the files
// that make a container a kind node come from kind's module.
//
//	base       debootstrap, imported as an image; made anew when the packages change
//	programs   go build: e2e/controlplane with the tag "node", and pause
//	parts      images of the control plane, kube-proxy and pause, saved as one archive
//	node       a container of the base is made a node, preloaded with the parts, committed
//
// What it leaves out of a kindest/node: CoreDNS, so that no name is resolved in a pod,
// kindnet, whose work one CNI configuration does, and the storage provisioner.
//
// The image carries the fingerprint of all that decides what it is, and is found by it.
package nodeimage
