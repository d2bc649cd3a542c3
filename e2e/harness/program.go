package harness

import (
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/sliceshift/sliceshift/e2e/built"
)

// programs builds a command of this repository once for all tests.
var programs = struct {
	sync.Mutex
	dir   string
	built map[string]string
}{built: map[string]string{}}

// Program returns the path of a command of this repository and builds it if necessary.
func Program(t testing.TB, name string) string {
	t.Helper()
	programs.Lock()
	defer programs.Unlock()
	if path := programs.built[name]; path != "" {
		return path
	}
	if programs.dir == "" {
		dir, err := os.MkdirTemp("", "sliceshift-programs-") //nolint:usetesting // it outlives the test that asks first
		if err != nil {
			t.Fatal(err)
		}
		programs.dir = dir
	}
	path := filepath.Join(programs.dir, name)
	if err := built.Command(t.Context(), name, path); err != nil {
		t.Fatal(err)
	}
	programs.built[name] = path
	return path
}

// removePrograms deletes the built commands.
func removePrograms() error {
	programs.Lock()
	defer programs.Unlock()
	return os.RemoveAll(programs.dir)
}
