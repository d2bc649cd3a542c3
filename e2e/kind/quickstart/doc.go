// Package quickstart runs every command of docs/quickstart.md, in its order, on this
// machine. It has no code of its own.
package quickstart
