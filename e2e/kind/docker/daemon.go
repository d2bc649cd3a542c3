package docker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/sliceshift/sliceshift/internal/program"
)

// Daemon is a dockerd that this process started, or empty if a daemon answered already.
type Daemon struct {
	cmd *exec.Cmd
	log string
}

// Ensure ensures that a docker daemon answers. It installs Debian's docker.io if there is no dockerd, and starts
// dockerd if it does not run. Stop stops only a daemon that Ensure started.
func Ensure(ctx context.Context, logDir string, progress io.Writer) (*Daemon, error) {
	if _, err := exec.LookPath("docker"); err == nil && answers(ctx) {
		return &Daemon{}, nil
	}
	if err := Install(ctx, progress, "dockerd", "docker.io"); err != nil {
		return nil, err
	}
	if answers(ctx) { // the package started it
		return &Daemon{}, nil
	}
	return start(ctx, filepath.Join(logDir, "dockerd.log"), progress)
}

// Install installs a Debian package if its command is missing.
func Install(ctx context.Context, progress io.Writer, command, pkg string) error {
	if _, err := exec.LookPath(command); err == nil {
		return nil
	}
	if _, err := exec.LookPath("apt-get"); err != nil {
		return fmt.Errorf("%s is not installed and this is no Debian: install it and try again", command)
	}
	fmt.Fprintf(progress, "installing %s\n", pkg)
	for _, args := range [][]string{{"update", "-qq"}, {"install", "-y", "-qq", "--no-install-recommends", pkg, "iptables"}} {
		if _, err := (program.In{Env: []string{"DEBIAN_FRONTEND=noninteractive"}}).Output(ctx, "apt-get", args...); err != nil {
			return fmt.Errorf("install %s: %w", pkg, err)
		}
	}
	return nil
}

func answers(ctx context.Context) bool { return Run(ctx, "version") == nil }

// start starts dockerd in a new session, so that an interrupt from the terminal does not end it: Stop does.
func start(ctx context.Context, log string, progress io.Writer) (*Daemon, error) {
	fmt.Fprintf(progress, "starting dockerd, log in %s\n", log)
	file, err := os.Create(log)
	if err != nil {
		return nil, fmt.Errorf("open dockerd's log: %w", err)
	}
	defer file.Close()
	cmd := exec.Command("dockerd") // not CommandContext: Stop ends it gracefully
	cmd.Stdout, cmd.Stderr = file, file
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start dockerd: %w", err)
	}
	daemon := &Daemon{cmd: cmd, log: log}
	const patience, interval = time.Minute, 200 * time.Millisecond
	err = wait.PollUntilContextTimeout(ctx, interval, patience, true, func(ctx context.Context) (bool, error) { return answers(ctx), nil })
	if err != nil {
		return nil, errors.Join(fmt.Errorf("dockerd does not answer, see %s: %w", log, err), daemon.Stop())
	}
	return daemon, nil
}

// Stop ends the daemon, if Ensure started one.
func (d *Daemon) Stop() error {
	if d == nil || d.cmd == nil {
		return nil
	}
	if err := d.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return fmt.Errorf("stop dockerd: %w", err)
	}
	if err := d.cmd.Wait(); err != nil {
		return fmt.Errorf("dockerd ended badly, see %s: %w", d.log, err)
	}
	return nil
}
