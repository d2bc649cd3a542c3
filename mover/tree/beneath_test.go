package tree

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sliceshift/sliceshift/internal/treetest"
	"github.com/sliceshift/sliceshift/mover/entry"
)

// TestK12Beneath: nothing is read or written through a link in the tree, at any depth and with any target.
// Paths are opened by openat2 with RESOLVE flags, or step by step without it.
func TestK12Beneath(t *testing.T) {
	t.Parallel()
	for _, depth := range []int{0, 1, 2, 7} {
		for name, target := range map[string]func(outside, folder string) (string, error){
			"absolute": func(outside, _ string) (string, error) { return outside, nil },
			"relative": func(outside, folder string) (string, error) { return filepath.Rel(folder, outside) },
			"magic":    func(outside, _ string) (string, error) { return "/proc/self/root" + outside, nil },
		} {
			for _, stepwise := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s, %d deep, stepwise %t", name, depth, stepwise), func(t *testing.T) {
					root, outside := t.TempDir(), filepath.Join(t.TempDir(), "outside")
					in := treetest.In(t, outside)
					in.Must(os.MkdirAll(filepath.Join(outside, "a", "folder"), 0o755))
					in.File("a/secret", []byte("secret"))
					below := strings.Repeat("d/", depth)
					in.Must(os.MkdirAll(filepath.Join(root, below), 0o755))
					to, err := target(outside, filepath.Join(root, below))
					in.Must(err)
					in.Must(os.Symlink(to, filepath.Join(root, below, "out")))
					in.Must(os.WriteFile(filepath.Join(root, "own"), nil, 0o600))
					tree, err := Open(root)
					in.Must(err)
					defer func() { _ = tree.Close() }()
					tree.stepwise = tree.stepwise || stepwise
					through := below + "out/a"
					for what, do := range reaching(through) {
						c := tree.Cursor()
						if err := do(c); err == nil {
							t.Errorf("%s goes through the link", what)
						}
						c.Close()
					}
					list, err := os.ReadDir(filepath.Join(outside, "a"))
					info, lost := os.Stat(filepath.Join(outside, "a", "secret"))
					if err != nil || lost != nil || len(list) != 2 || info.Mode().Perm() == 0o777 || info.Size() != 6 {
						t.Errorf("outside: %v, %v, %v", list, err, lost)
					}
				})
			}
		}
	}
}

// reaching returns all operations of a cursor, in a folder and on the file secret in it.
func reaching(folder string) map[string]func(*Cursor) error {
	opened := func(f *File, err error) error {
		if err == nil {
			_ = f.Close()
		}
		return err
	}
	return map[string]func(*Cursor) error{
		"a new folder": func(c *Cursor) error { return c.Make(&entry.Entry{Path: folder + "/x", Kind: entry.Directory}) },
		"a new link": func(c *Cursor) error {
			return c.Make(&entry.Entry{Path: folder + "/y", Kind: entry.Symlink, Target: "z"})
		},
		"a new file": func(c *Cursor) error { return opened(c.Create(folder + "/z")) },
		"a write":    func(c *Cursor) error { return opened(c.OpenToWrite(folder + "/secret")) },
		"metadata": func(c *Cursor) error {
			return c.SetMetadata(&entry.Entry{Path: folder + "/secret", Kind: entry.File, Mode: 0o777})
		},
		"a further name": func(c *Cursor) error { return c.Link("own", folder+"/w") },
		"a name of its":  func(c *Cursor) error { return c.Link(folder+"/secret", "taken") },
		"a removal":      func(c *Cursor) error { return c.Remove(folder + "/secret") },
		"a read": func(c *Cursor) error {
			content, err := c.Open(folder + "/secret")
			if err == nil {
				_ = content.Close()
			}
			return err
		},
	}
}
