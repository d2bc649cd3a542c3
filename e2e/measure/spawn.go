package measure

import (
	"os/exec"
	"syscall"

	"github.com/sliceshift/sliceshift/e2e/child"
)

// Spawn starts a process in a group of its own, which dies with this process. When
// its context ends, the whole group does.
func Spawn(cmd *exec.Cmd) error {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	return child.Start(cmd)
}
