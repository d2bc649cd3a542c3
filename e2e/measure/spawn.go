package measure

import (
	"os/exec"
	"syscall"

	"github.com/sliceshift/sliceshift/e2e/child"
)

// Spawn starts a process in a new process group. It ends with this process. When its context ends, the whole group is
// killed.
func Spawn(cmd *exec.Cmd) error {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	return child.Start(cmd)
}
