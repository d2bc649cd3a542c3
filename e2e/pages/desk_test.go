package pages

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"regexp"
	"syscall"
	"testing"

	"github.com/creack/pty"

	"github.com/sliceshift/sliceshift/e2e/child"
)

// terminal runs the commands of one scene.
type terminal struct {
	t   *testing.T
	ctx context.Context //nolint:containedctx // a scene has one context, and every command needs it
	dir string
	env []string
}

// prelude prepares the shell of a scene. It defines jq, which only filters output, on machines without it. It
// defines sudo to run the command directly, since every file is inside the scene's folder.
const prelude = "set -euo pipefail\ncommand -v jq >/dev/null || jq() { cat; }\nsudo() { \"$@\"; }\n"

func (s terminal) bash(text string) *exec.Cmd {
	cmd := exec.CommandContext(s.ctx, "bash", "-c", prelude+text)
	cmd.Dir, cmd.Env = s.dir, s.env
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	return cmd
}

// run runs a command to its end, and returns its output and its exit code.
func (s terminal) run(text string) (string, int) {
	s.t.Helper()
	var out bytes.Buffer
	cmd := s.bash(text)
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := child.Start(cmd); err != nil {
		s.t.Fatal(err)
	}
	code := codeOf(cmd.Wait())
	return out.String(), code
}

// must runs a command that prepares a scene.
func (s terminal) must(text string) {
	s.t.Helper()
	if out, code := s.run(text); code != 0 {
		s.t.Fatalf("%s: exit code %d:\n%s", text, code, out)
	}
}

// answer runs a command that prompts the user, and enters the reply.
func (s terminal) answer(text, reply string) (string, int) {
	s.t.Helper()
	cmd := s.bash(text)
	cmd.SysProcAttr = nil
	tty, err := pty.Start(cmd)
	if err != nil {
		s.t.Fatal(err)
	}
	defer tty.Close()
	if _, err := io.WriteString(tty, reply+"\n"); err != nil {
		s.t.Fatal(err)
	}
	var out bytes.Buffer
	_, _ = io.Copy(&out, tty) // reading a terminal fails once its other end is closed
	return out.String(), codeOf(cmd.Wait())
}

// errSilent reports that a command did not print the expected line.
var errSilent = errors.New("it never said what it should")

// until runs a command that runs until it is interrupted. When a line matches says, it calls follow with the
// match and then interrupts the command.
func (s terminal) until(text string, says *regexp.Regexp, follow func(match []string) error) (string, error) {
	s.t.Helper()
	cmd := s.bash(text)
	read, write, err := os.Pipe()
	if err != nil {
		s.t.Fatal(err)
	}
	defer read.Close()
	cmd.Stdout, cmd.Stderr = write, write
	err = child.Start(cmd)
	if err := errors.Join(err, write.Close()); err != nil {
		s.t.Fatal(err)
	}
	var out bytes.Buffer
	said, outcome := false, errSilent
	for lines := bufio.NewScanner(read); lines.Scan(); {
		out.WriteString(lines.Text() + "\n")
		if match := says.FindStringSubmatch(lines.Text()); match != nil && !said {
			said, outcome = true, follow(match)
			if err := syscall.Kill(-cmd.Process.Pid, syscall.SIGINT); err != nil {
				s.t.Fatal(err)
			}
		}
	}
	_ = cmd.Wait() // it was interrupted
	return out.String(), outcome
}

// start runs a command until the scene ends, and returns a function that interrupts it earlier.
func (s terminal) start(text string) (interrupt func()) {
	s.t.Helper()
	var out bytes.Buffer
	cmd := s.bash("exec " + text)
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := child.Start(cmd); err != nil {
		s.t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = cmd.Wait() // it was interrupted
	}()
	over := false
	interrupt = func() {
		if over {
			return
		}
		over = true
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGINT) // it may have exited
		<-ended
		if s.t.Failed() {
			s.t.Logf("%s:\n%s", text, out.String())
		}
	}
	s.t.Cleanup(interrupt)
	return interrupt
}

func codeOf(err error) int {
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return exit.ExitCode()
	}
	if err != nil {
		return -1
	}
	return 0
}
