//go:build !unix

package move

import "syscall"

// ownSession is nil on systems without sessions. A start with further files fails there.
func ownSession() *syscall.SysProcAttr { return nil }
