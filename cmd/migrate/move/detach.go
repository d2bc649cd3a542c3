package move

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/sliceshift/sliceshift/cmd/migrate/command"
	"github.com/sliceshift/sliceshift/internal/shell"
)

// DetachedKey is the environment variable that marks a run without a terminal.
const DetachedKey = "SLICESHIFT_DETACHED"

// begun is the message of a detached run to its parent process, once the move is under way.
const begun = "begun"

// begunFile is the file descriptor for that message: the first one after the streams.
const begunFile = 3

// leave starts the same run in a session of its own, and returns once that run drives the move, or has ended.
func (o *runOptions) leave(ctx context.Context) error {
	path, err := o.detachedLog()
	if err != nil {
		return err
	}
	const private = 0o600
	log, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_RDWR, private)
	if err != nil {
		return fmt.Errorf("--detach: %w", err)
	}
	defer func() { _ = log.Close() }()
	before, err := log.Seek(0, io.SeekEnd)
	if err != nil {
		return fmt.Errorf("--detach: %w", err)
	}
	child, said, err := o.start(log)
	if err != nil {
		return fmt.Errorf("--detach: %w", err)
	}
	defer context.AfterFunc(ctx, func() { _ = child.Process.Signal(os.Interrupt) })()
	answer, err := io.ReadAll(said)
	_ = said.Close()
	if err != nil || string(answer) != begun {
		return o.notBegun(child, io.NewSectionReader(log, before, mostShown))
	}
	fmt.Fprintf(o.Out, "The move continues without this terminal, as process %d on this machine.\n  its output: %s\n  to watch it: %s\n  to pause it: %s\n  to end the process: %s\nEnd the process only to continue elsewhere: an ordinal that is down stays down until you run the move again.\n",
		child.Process.Pid, shell.Command("tail", "-f", path), o.Again("status", o.set, o.namespace)+" -w", o.Again("pause", o.set, o.namespace), shell.Command("kill", strconv.Itoa(child.Process.Pid)))
	return child.Process.Release()
}

// mostShown limits the part of the log that is shown for a run that has not begun.
const mostShown = 64 << 10

// notBegun prints the output of a run that ended before it drove the move, and returns its exit code.
func (o *runOptions) notBegun(child *exec.Cmd, log io.Reader) error {
	ended := child.Wait()
	_, _ = io.Copy(o.ErrOut, log)
	if ended == nil {
		return nil
	}
	return &command.ExitError{Code: max(command.ExitFailure, child.ProcessState.ExitCode()), Err: ended, Silent: true}
}

// start starts this program again, with the same arguments but --detach.
func (o *runOptions) start(log *os.File) (child *exec.Cmd, said *os.File, err error) {
	program, err := os.Executable()
	if err != nil {
		return nil, nil, err
	}
	said, tell, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = tell.Close() }()
	var args []string
	for _, arg := range o.Args {
		if name, _, _ := strings.Cut(arg, "="); name != "--detach" {
			args = append(args, arg)
		}
	}
	child = exec.Command(program, args...) //nolint:gosec,noctx // this very program, which outlives the context
	child.Env = append(os.Environ(), DetachedKey+"=1")
	child.Stdout, child.Stderr, child.ExtraFiles = log, log, []*os.File{tell}
	child.SysProcAttr = ownSession()
	if err := child.Start(); err != nil {
		_ = said.Close()
		return nil, nil, err
	}
	return child, said, nil
}

// detachedLog returns the output file of a run without a terminal, readable only by this user.
func (o *runOptions) detachedLog() (string, error) {
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("--detach: no folder for its output: %w", err)
	}
	const private = 0o700
	dir = filepath.Join(dir, "sliceshift")
	if err := os.MkdirAll(dir, private); err != nil {
		return "", fmt.Errorf("--detach: %w", err)
	}
	return filepath.Join(dir, o.namespace+"-"+o.set+".log"), nil
}

// detached reports whether this process runs without a terminal.
func (o *runOptions) detached() bool { return o.Getenv(DetachedKey) != "" }

// sayBegun reports to the parent process of a detached run that the move is under way.
func (o *runOptions) sayBegun() {
	if !o.detached() {
		return
	}
	tell := os.NewFile(begunFile, begun)
	_, _ = io.WriteString(tell, begun) // the parent may have ended
	_ = tell.Close()
}
