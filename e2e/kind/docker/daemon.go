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

// Daemon is a dockerd that this process started, or nothing when one answered already.
type Daemon struct {
	cmd *exec.Cmd
	log string
}

// Ensure makes a docker daemon answer: it installs Debian's docker.io when there is no
// dockerd, and starts it when none runs. Stop stops what Ensure started.
func Ensure(ctx context.Context, logDir string, progress io.Writer) (*Daemon, error) {
	if _, err := exec.LookPath("docker"); err == nil && answers(ctx) {
		return &Daemon{}, nil
	}
	if err := Install(ctx, progress, "dockerd", "docker.io"); err != nil {
		return nil, err
	}
	if answers(ctx) { // the package has started it
		return &Daemon{}, nil
	}
	return start(ctx, filepath.Join(logDir, "dockerd.log"), progress)
}

// Install makes a command of a Debian package available.
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

// start starts dockerd in a session of its own, so that an interrupt from the terminal
// leaves it to Stop.
func start(ctx context.Context, log string, progress io.Writer) (*Daemon, error) {
	fmt.Fprintf(progress, "starting dockerd, log in %s\n", log)
	file, err := os.Create(log)
	if err != nil {
		return nil, fmt.Errorf("open dockerd's log: %w", err)
	}
	defer file.Close()
	cmd := exec.Command("dockerd") // not CommandContext: it is ended by Stop, in peace
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
