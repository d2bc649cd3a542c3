// Package tutorial runs every command of docs/tutorial.md, in its order, on this
// machine. It has no code of its own.
package tutorial
