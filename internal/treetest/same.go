package treetest

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Same fails the test if two trees differ in names, types, modes, times, links or contents. It is fast and uses only the
// standard library.
func Same(t testing.TB, source, destination string) {
	t.Helper()
	if diff := cmp.Diff(lines(t, source), lines(t, destination)); diff != "" {
		t.Errorf("-source +destination\n%s", diff)
	}
}

// lines returns a description of each path.
func lines(t testing.TB, root string) map[string]string {
	t.Helper()
	all, first := map[string]string{}, map[uint64]string{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		name := path[len(root):]
		line := fmt.Sprintf("%s %d", info.Mode(), info.ModTime().UnixNano())
		stat, ok := info.Sys().(*syscall.Stat_t)
		if !ok {
			return fmt.Errorf("%s has no stat", path)
		}
		if !d.IsDir() && stat.Nlink > 1 {
			if other, seen := first[stat.Ino]; seen {
				line += " = " + other
			} else {
				first[stat.Ino] = name
			}
		}
		switch {
		case info.Mode().IsRegular():
			content, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			line += fmt.Sprintf(" %d %x", len(content), sha256.Sum256(content))
		case d.Type() == fs.ModeSymlink:
			target, err := os.Readlink(path)
			if err != nil {
				return err
			}
			line += " -> " + target
		}
		all[name] = line
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}
