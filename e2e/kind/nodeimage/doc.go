// Package nodeimage builds a node image for kind out of Go modules and Debian packages, for machines that reach no
// registry. One binary, built from the sources of Kubernetes, serves as every component of a cluster. containerd and
// runc are Debian's. The files that turn a container into a kind node come from kind's module.
//
//	base       debootstrap, imported as an image; rebuilt when the packages change
//	programs   go build: e2e/controlplane with the tag "node", and pause
//	parts      images of the control plane, kube-proxy and pause, saved as one archive
//	node       a container of the base, turned into a node, preloaded with the parts, committed
//
// It omits three parts of a kindest/node: CoreDNS, so pods cannot resolve names, kindnet, which one CNI configuration
// replaces, and the storage provisioner.
//
// The image has a label with the fingerprint of all its inputs, by which it is found.
package nodeimage
