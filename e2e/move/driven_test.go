package move

import (
	"context"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/sliceshift/sliceshift/cmd/migrate/command"
	"github.com/sliceshift/sliceshift/e2e/harness"
)

// TestV3NobodyDrives kills a run with an ordinal down (P15). Each command reports since when no process drives
// the move, which ordinal is down and how to continue, and exits with 3. The same command continues the move,
// which completes.
func TestV3NobodyDrives(t *testing.T) {
	t.Parallel()
	v := newMove(t, harness.Usual(3), harness.AcrossClusters)
	cmd := v.cli("run")
	v.Must(cmd.Start())
	v.awaitFewer(3)
	v.Must(cmd.Process.Kill())
	_ = cmd.Wait() // the process was killed
	v.Eventually("status says that nobody drives it", func(context.Context) (bool, error) {
		return codeOf(v.cli("status").Run()) == command.ExitStalled, nil
	})
	for _, args := range [][]string{{"status"}, {"status", "-o", "json"}, {"report"}, {"pause"}, {"resume"}} {
		said := v.exits(v.cli(args[0], args[1:]...), command.ExitStalled)
		if !strings.Contains(said, "nobody has driven this since ") || !strings.Contains(said, "to go on: ") || !strings.Contains(said, "run "+v.App.Name) {
			t.Errorf("%v says:\n%s", args, said)
		}
	}
	v.exits(v.cli("run"), command.ExitDone)
	v.ExpectMovedCleanly()
	v.exits(v.cli("status"), command.ExitDone)
}

// TestDetach starts a move in the background and returns. The move continues in its own session, which a
// hang-up does not end. It obeys a pause, continues and completes. If the run is refused, the command shows the
// reason and has the same exit code.
func TestDetach(t *testing.T) {
	t.Parallel()
	v := newMove(t, harness.Usual(3), harness.AcrossClusters)
	home := t.TempDir()
	detached := func(more ...string) *exec.Cmd {
		cmd := v.cli("run", append([]string{"--detach"}, more...)...)
		cmd.Env = append(os.Environ(), "XDG_CACHE_HOME="+home)
		return cmd
	}
	said := v.exits(detached(), command.ExitDone)
	_, after, found := strings.Cut(said, "as process ")
	number, _, _ := strings.Cut(after, " ")
	pid, err := strconv.Atoi(number)
	if !found || err != nil || !strings.Contains(said, "status "+v.App.Name) {
		t.Fatalf("it says:\n%s", said)
	}
	t.Cleanup(func() { _ = syscall.Kill(pid, syscall.SIGKILL) })
	v.Must(syscall.Kill(pid, syscall.SIGHUP))
	v.exits(v.cli("pause"), command.ExitDone)
	v.exits(v.cli("resume"), command.ExitDone)
	v.exits(v.cli("status", "-w"), command.ExitDone)
	v.ExpectMovedCleanly()
	if said := v.exits(detached("--to-name", "other"), command.ExitStalled); !strings.Contains(said, "completed and recorded") {
		t.Errorf("it says:\n%s", said)
	}
}
