// Package docker runs the docker command. It finds or installs it, starts the daemon if none answers, and inspects the
// properties of this machine that decide how nodes in containers must run.
package docker

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"syscall"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/sliceshift/sliceshift/internal/program"
)

// Run runs docker with these arguments. An error holds docker's output.
func Run(ctx context.Context, args ...string) error {
	_, err := Output(ctx, args...)
	return err
}

// Output runs docker and returns its output, without the last line's end.
func Output(ctx context.Context, args ...string) (string, error) {
	return Feed(ctx, nil, args...)
}

// Feed is Output for a docker that reads stdin.
func Feed(ctx context.Context, stdin io.Reader, args ...string) (string, error) {
	return program.In{Stdin: stdin}.Output(ctx, "docker", args...)
}

// Import imports an archive of files as an image. The changes are instructions of a Dockerfile.
func Import(ctx context.Context, archive io.Reader, image string, changes ...string) error {
	args := []string{"import"}
	for _, change := range changes {
		args = append(args, "--change", change)
	}
	_, err := Feed(ctx, archive, append(args, "-", image)...)
	return err
}

// ImportDir imports a folder as an image.
func ImportDir(ctx context.Context, dir, image string, changes ...string) error {
	tar := exec.CommandContext(ctx, "tar", "-C", dir, "--numeric-owner", "-c", ".")
	stream, err := tar.StdoutPipe()
	if err != nil {
		return err
	}
	if err := tar.Start(); err != nil {
		return err
	}
	return errors.Join(Import(ctx, stream, image, changes...), tar.Wait())
}

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

// Host holds the properties of this machine that decide how a node runs.
type Host struct {
	// CgroupV1 is true if the machine has version 1 of control groups, which a kubelet refuses unless configured
	// otherwise.
	CgroupV1 bool
	// Unprivileged is true if CAP_SYS_RESOURCE is not available: a container that requests every capability, as kind's
	// nodes do, cannot start.
	Unprivileged bool
}

// Inspect inspects this machine.
func Inspect() (Host, error) {
	_, err := os.Stat("/sys/fs/cgroup/cgroup.controllers")
	host := Host{CgroupV1: err != nil}
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return Host{}, fmt.Errorf("read the capabilities of this process: %w", err)
	}
	bounds, err := boundingSet(string(status))
	if err != nil {
		return Host{}, err
	}
	host.Unprivileged = bounds&(1<<capSysResource) == 0
	return host, nil
}

const capSysResource = 24

var capBnd = regexp.MustCompile(`(?m)^CapBnd:\s*([0-9a-f]+)$`)

// boundingSet returns the set of capabilities that this process and its children can ever have.
func boundingSet(status string) (uint64, error) {
	found := capBnd.FindStringSubmatch(status)
	if found == nil {
		return 0, errors.New("/proc/self/status names no CapBnd")
	}
	return strconv.ParseUint(found[1], 16, 64)
}

//go:embed wrapper.sh
var wrapper []byte

// Environment returns the environment for a program that calls docker --privileged on this host. On most hosts it is
// that of this process. Without CAP_SYS_RESOURCE, a docker wrapper, created in dir, is first in PATH.
func (h Host) Environment(dir string) ([]string, error) {
	if !h.Unprivileged {
		return os.Environ(), nil
	}
	docker, err := exec.LookPath("docker")
	if err != nil {
		return nil, fmt.Errorf("find docker: %w", err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(dir, "docker"), wrapper, 0o755); err != nil {
		return nil, fmt.Errorf("write the docker wrapper: %w", err)
	}
	return append(os.Environ(), "DOCKER="+docker, "PATH="+dir+string(os.PathListSeparator)+os.Getenv("PATH")), nil
}
