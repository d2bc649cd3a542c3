package kind

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestLease: a process can borrow the clusters that another process lends.
func TestLease(t *testing.T) {
	holder := &Pair{machine: &Machine{Kind: "/bin/kind", Image: "sliceshift/node:v1"}}
	holder.dir = t.TempDir()
	holder.home = holder.dir
	if err := holder.lend(); err != nil {
		t.Fatal(err)
	}
	variable, file, _ := strings.Cut(holder.Lend(), "=")
	if variable != pairVariable {
		t.Errorf("it is lent as %s, want %s", variable, pairVariable)
	}
	got, err := readLease(file, false)
	if err != nil {
		t.Fatal(err)
	}
	if want := (lease{Home: holder.dir, Kind: "/bin/kind", Image: "sliceshift/node:v1"}); got != want {
		t.Errorf("borrowed: %+v, want %+v", got, want)
	}
	if _, err := readLease(file, true); err == nil || !strings.Contains(err.Error(), "no hub") {
		t.Errorf("a hub is borrowed that is not there: %v", err)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if _, err := readLease(file, false); err == nil || !strings.Contains(err.Error(), "nobody holds") {
		t.Errorf("clusters are borrowed that are gone: %v", err)
	}
}

// TestLock: a lock has one holder until it is released.
func TestLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	release, err := lock(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := lock(path); err == nil || !strings.Contains(err.Error(), "another run") {
		t.Errorf("it is taken twice: %v", err)
	}
	release()
	release, err = lock(path)
	if err != nil {
		t.Fatal(err)
	}
	release()
}
