// Package tutorial runs every command of docs/tutorial.md, in its order, on this
// machine: all of them between kind clusters, and those that need no kubelet between
// control planes that run as processes. It has no code of its own.
package tutorial
