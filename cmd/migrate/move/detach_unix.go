//go:build unix

package move

import "syscall"

// ownSession keeps the signals of a terminal from a process.
func ownSession() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }
