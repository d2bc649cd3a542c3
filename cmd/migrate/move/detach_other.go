//go:build !unix

package move

import "syscall"

// ownSession returns nil, because the system has no sessions. Starting the process fails there, because it passes
// further files.
func ownSession() *syscall.SysProcAttr { return nil }
