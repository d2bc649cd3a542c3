package treetest

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sliceshift/sliceshift/internal/treediff"
)

// Required is the environment variable that turns a missing comparison tool into a failure.
const Required = "SLICESHIFT_MOVER_JUDGES"

// Equal fails the test if two trees differ, according to rsync, go-mtree and their holes.
func Equal(t testing.TB, source, destination string) {
	t.Helper()
	byRsync(t, source, destination)
	byMtree(t, source, destination)
	sameHoles(t, source, destination)
}

func byRsync(t testing.TB, source, destination string) {
	t.Helper()
	found, err := treediff.Rsync(t.Context(), source, destination)
	if errors.Is(err, treediff.ErrNoRsync) && os.Getenv(Required) == "" {
		t.Log("rsync is not installed: judged without it")
		return
	}
	report(t, found, err)
}

func byMtree(t testing.TB, source, destination string) {
	t.Helper()
	found, err := treediff.Mtree(source, destination)
	report(t, found, err)
}

func report(t testing.TB, found []string, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	for _, each := range found {
		t.Errorf("%s", each)
	}
}

func sameHoles(t testing.TB, source, destination string) {
	t.Helper()
	err := filepath.WalkDir(source, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		name := strings.TrimPrefix(path, source+"/")
		if diff := cmp.Diff(In(t, source).Extents(name), In(t, destination).Extents(name)); diff != "" {
			t.Errorf("holes of %q: -source +destination\n%s", name, diff)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
