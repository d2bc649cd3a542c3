//go:build unix

package move

import "syscall"

// ownSession starts a process in its own session, so that it gets no signals from the terminal.
func ownSession() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }
