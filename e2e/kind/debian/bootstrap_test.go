package debian

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/sliceshift/sliceshift/e2e/child"
)

// mounting simulates debootstrap: it mounts a file system, lets a child report it, and never ends.
const mounting = `mount -t proc none "$0/proc" && { sh -c 'echo $$ >"$0/mounted"; exec sleep 600' "$0" & wait; }`

// TestAlone: no other process sees the mounts of a program. After the program is interrupted, or the process that
// started it is killed, no process and no mount of it remains, and the folder can be removed.
func TestAlone(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("mounting needs root")
	}
	for name, interrupt := range map[string]func(t *testing.T, dir string, begin func(context.Context) *exec.Cmd){
		"interrupted": func(t *testing.T, dir string, begin func(context.Context) *exec.Cmd) {
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error)
			go func() {
				_, err := run(begin(ctx))
				ended <- err
			}()
			awaitMount(t, dir)
			cancel()
			if err := <-ended; err == nil {
				t.Error("it ended well")
			}
		},
		"its parent is killed": func(t *testing.T, dir string, begin func(context.Context) *exec.Cmd) {
			parent := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestParent$")
			parent.Env = append(os.Environ(), parentOf+"="+strings.Join(begin(t.Context()).Args, "\n"))
			if err := child.Start(parent); err != nil {
				t.Fatal(err)
			}
			awaitMount(t, dir)
			if err := parent.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			_ = parent.Wait() // it was killed
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.Mkdir(filepath.Join(dir, "proc"), 0o700); err != nil {
				t.Fatal(err)
			}
			interrupt(t, dir, func(ctx context.Context) *exec.Cmd {
				return exec.CommandContext(ctx, alone[0], append(alone[1:len(alone):len(alone)], "sh", "-c", mounting, dir)...)
			})
			await(t, "a process still has its mount", func() (bool, error) {
				return !isMounted(dir), nil
			})
		})
	}
}

// isMounted reports whether any process sees a mount in a folder.
func isMounted(dir string) bool {
	mounts, _ := filepath.Glob("/proc/[0-9]*/mountinfo") // the pattern is well-formed
	return slices.ContainsFunc(mounts, func(of string) bool {
		seen, _ := os.ReadFile(of) // the process may have ended
		return strings.Contains(string(seen), " "+dir+"/")
	})
}

// parentOf is the variable with the command line that TestParent runs.
const parentOf = "SLICESHIFT_PARENT_OF"

// TestParent is the process that TestAlone kills.
func TestParent(t *testing.T) {
	line := os.Getenv(parentOf)
	if line == "" {
		return
	}
	words := strings.Split(line, "\n")
	out, err := run(exec.CommandContext(t.Context(), words[0], words[1:]...))
	t.Fatalf("it ended: %v: %s", err, out)
}

// awaitMount waits until the program has mounted a file system, which must be invisible to this process.
func awaitMount(t *testing.T, dir string) {
	t.Helper()
	await(t, "it does not mount anything", func() (bool, error) {
		_, err := os.Stat(filepath.Join(dir, "mounted"))
		if errors.Is(err, fs.ErrNotExist) {
			return false, nil
		}
		return err == nil, err
	})
	inside, err := os.ReadDir(filepath.Join(dir, "proc"))
	if err != nil || len(inside) > 0 || !isMounted(dir) {
		t.Errorf("its mount is seen here, or nowhere: %d entries: %v", len(inside), err)
	}
}

func await(t *testing.T, otherwise string, holds func() (bool, error)) {
	t.Helper()
	const often, limit = 10 * time.Millisecond, 20 * time.Second
	err := wait.PollUntilContextTimeout(t.Context(), often, limit, true, func(context.Context) (bool, error) { return holds() })
	if err != nil {
		t.Fatalf("%s: %v", otherwise, err)
	}
}
