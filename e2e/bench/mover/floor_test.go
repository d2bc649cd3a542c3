package mover

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// content returns the files of a tree.
func content(t *testing.T, root string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := each(root, func(path string) error {
		data, err := os.ReadFile(path)
		found[strings.TrimPrefix(path, root)] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// TestFloor: the floor copies all that it is timed for, in each of its ways.
func TestFloor(t *testing.T) {
	const total = 3*long + 4*page // the last part is short
	for _, tc := range []struct {
		name    string
		ways    []way
		prepare func(source, before string) error
	}{
		{"large", largeWays, func(source, _ string) error {
			return errors.Join(random(source+"/file", total+5), os.Mkdir(source+"/empty", 0o755), random(source+"/above", small+1))
		}},
		{"small", smallWays, func(source, _ string) error { return many(source, perFolder+batch+1) }},
		{"changed", changedWays, func(source, before string) error {
			return errors.Join(random(before+"/file", total), random(source+"/file", total), change(source+"/file", total))
		}},
	} {
		source, before := t.TempDir(), t.TempDir()
		if err := tc.prepare(source, before); err != nil {
			t.Fatal(err)
		}
		for _, w := range tc.ways {
			destination := filepath.Join(t.TempDir(), "d")
			if err := errors.Join(duplicate(before, destination), w.copy(t.Context(), source, destination)); err != nil {
				t.Fatalf("%s, %s: %v", tc.name, w.name, err)
			}
			if got, want := content(t, destination), content(t, source); !cmp.Equal(got, want) {
				t.Errorf("%s, %s: the copy of %d files is not equal", tc.name, w.name, len(want))
			}
		}
		if same := cmp.Equal(content(t, source), content(t, before)); same {
			t.Errorf("%s: there was nothing to copy", tc.name)
		}
		if err := readBoth(t.Context(), short, source, before); err != nil {
			t.Errorf("%s: %v", tc.name, err)
		}
	}
}

// TestBound: no program is faster than the floor, and none that proves its copy faster than the floor with a proof.
func TestBound(t *testing.T) {
	good := times{Ours: 5, Rsync: 3, Floor: 3, Proven: 5, Verifying: 2}
	if err := good.bound(); err != nil {
		t.Error(err)
	}
	for who, bad := range map[string]times{
		"the mover": {Ours: 4.9, Rsync: 6, Floor: 3, Proven: 5},
		"rsync":     {Ours: 5, Rsync: 2.9, Floor: 3, Proven: 5},
	} {
		if err := bad.bound(); err == nil || !strings.Contains(err.Error(), who) {
			t.Errorf("%s: %v", who, err)
		}
	}
}
