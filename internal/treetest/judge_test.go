package treetest

import (
	"os"
	"os/exec"
	"testing"
)

// verdict is a test that only records whether it failed.
type verdict struct {
	testing.TB
	failed bool
}

func (v *verdict) Errorf(string, ...any) { v.failed = true }

// TestJudges: the tools report each kind of difference, and none between equal trees.
func TestJudges(t *testing.T) {
	NeedRoot(t)
	if _, err := exec.LookPath("rsync"); err != nil {
		t.Skip("rsync is not installed")
	}
	for name, change := range map[string]func(Tree){
		"":                         func(Tree) {},
		"a nanosecond":             func(d Tree) { d.Age("file", 1000, 2) },
		"a nanosecond of a folder": func(d Tree) { d.Age("folder", 1000, 2) },
		"content":                  func(d Tree) { d.File("file", []byte("two")); d.Age("file", 1000, 1); d.Age("", 1000, 1) },
		"a mode":                   func(d Tree) { d.Must(os.Chmod(d.Root+"/file", 0o600)) },
		"an owner":                 func(d Tree) { d.Must(os.Chown(d.Root+"/file", 1, 1)) },
		"an extended attribute":    func(d Tree) { d.Xattr("file", "user.x", []byte("y")) },
		"an ACL":                   func(d Tree) { d.Xattr("file", "system.posix_acl_access", acl()) },
		"one too many":             func(d Tree) { d.File("extra", nil); d.Age("", 1000, 1) },
		"one too few":              func(d Tree) { d.Must(os.Remove(d.Root + "/file")); d.Age("", 1000, 1) },
		"two files for one": func(d Tree) {
			d.Must(os.Remove(d.Root + "/again"))
			d.File("again", []byte("one"))
			d.Age("again", 1000, 1)
			d.Age("", 1000, 1)
		},
		"zeros where a hole was": func(d Tree) {
			d.Must(os.WriteFile(d.Root+"/hole", make([]byte, 100_000), 0o644))
			d.Age("hole", 1000, 1)
		},
		"another target of a link": func(d Tree) {
			d.Must(os.Remove(d.Root + "/link"))
			d.Must(os.Symlink("b", d.Root+"/link"))
			d.Age("link", 1000, 1)
			d.Age("", 1000, 1)
		},
	} {
		t.Run(name, func(t *testing.T) {
			var trees [2]Tree
			for i := range trees {
				d := In(t, t.TempDir())
				d.File("file", []byte("one"))
				d.Xattr("file", "user.x", []byte("x"))
				d.Must(os.Link(d.Root+"/file", d.Root+"/again"))
				d.Must(os.Symlink("a", d.Root+"/link"))
				d.Must(os.Mkdir(d.Root+"/folder", 0o755))
				d.Sparse("hole", 100_000, nil)
				for _, name := range []string{"file", "link", "folder", "hole", ""} {
					d.Age(name, 1000, 1)
				}
				trees[i] = d
			}
			change(trees[1])
			v := &verdict{TB: t}
			Equal(v, trees[0].Root, trees[1].Root)
			if v.failed != (name != "") {
				t.Errorf("the judges say that they differ: %v", v.failed)
			}
		})
	}
}
