// Package tutorial runs every command of docs/tutorial.md, in its order, on this machine. It runs all of them between
// kind clusters, and those that need no kubelet also between control planes that run as processes. It has
// only tests.
package tutorial
