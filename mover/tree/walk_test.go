package tree

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
	"pgregory.net/rapid"

	"github.com/sliceshift/sliceshift/internal/treetest"
	"github.com/sliceshift/sliceshift/mover/entry"
)

func open(t testing.TB, path string) *Tree {
	t.Helper()
	opened, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = opened.Close() })
	return opened
}

func walked(t testing.TB, tr *Tree) (paths []string) {
	t.Helper()
	walk := tr.Walk("")
	defer walk.Close()
	for {
		e, err := walk.Next()
		if errors.Is(err, io.EOF) {
			return paths
		}
		if err != nil {
			t.Fatal(err)
		}
		paths = append(paths, e.Path)
	}
}

// TestWalkOrder: every path once, in the order of entry.Compare, with openat2 and without.
func TestWalkOrder(t *testing.T) {
	root := t.TempDir()
	to := treetest.In(t, root)
	for _, name := range []string{"a/b", "a.b/c", "a!", "a/b.c/d", "z", "lost+found/x", ".snapshot/y", "deep/lost+found"} {
		to.File(name, nil)
	}
	var want []string
	to.Must(filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
		name := strings.TrimPrefix(strings.TrimPrefix(path, root), "/")
		if !strings.HasPrefix(name, "lost+found") && !strings.HasPrefix(name, ".snapshot") {
			want = append(want, name)
		}
		return err
	}))
	slices.SortFunc(want, entry.Compare)
	tr := open(t, root)
	for _, stepwise := range []bool{tr.stepwise, true} {
		tr.stepwise = stepwise
		if diff := cmp.Diff(want, walked(t, tr)); diff != "" {
			t.Errorf("stepwise %v: -want +got\n%s", stepwise, diff)
		}
	}
}

// TestDeep: a tree deeper than any path that a call takes is walked, read and removed.
func TestDeep(t *testing.T) {
	const depth = 100
	name := strings.Repeat("d", 100)
	for _, stepwise := range []bool{false, true} {
		tr := open(t, t.TempDir())
		tr.stepwise = tr.stepwise || stepwise
		cursor := tr.Cursor()
		path := ""
		for range depth {
			path = entry.Join(path, name)
			if err := cursor.Make(&entry.Entry{Path: path, Kind: entry.Directory}); err != nil {
				t.Fatal(err)
			}
		}
		if got := len(walked(t, tr)); got != depth+1 {
			t.Errorf("%d entries, not %d", got, depth+1)
		}
		if err := cursor.Remove(name); err != nil {
			t.Error(err)
		}
		if got := walked(t, tr); len(got) != 1 {
			t.Errorf("%d entries are left", len(got)-1)
		}
		cursor.Close()
	}
}

// TestNames: the names of a folder come in order, however few of them are kept at once.
func TestNames(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		list := rapid.SliceOfNDistinct(rapid.StringMatching(`[a-z]{1,8}`), 1, 60, rapid.ID[string]).Draw(rt, "names")
		limit := rapid.IntRange(1, 3000).Draw(rt, "limit")
		var got []string
		last := ""
		for {
			kept := lowest{above: last, limit: limit}
			for _, name := range list {
				kept.add(name)
				if kept.size > 2*limit+60 {
					rt.Fatalf("%d bytes are kept", kept.size)
				}
			}
			kept.shrink()
			if len(kept.list) == 0 {
				break
			}
			got = append(got, kept.list...)
			last = got[len(got)-1]
			if !kept.cut {
				break
			}
		}
		if diff := cmp.Diff(slices.Sorted(slices.Values(list)), got); diff != "" {
			rt.Fatalf("-want +got\n%s", diff)
		}
	})
	// And from a real folder.
	root := t.TempDir()
	var want []string
	for i := range 300 {
		want = append(want, fmt.Sprintf("%03d", i))
		treetest.In(t, root).File(want[i], nil)
	}
	tr := open(t, root)
	n := names{limit: 1000}
	var got []string
	for {
		name, err := n.take(tr.fd)
		if err != nil {
			t.Fatal(err)
		}
		if name == "" {
			break
		}
		got = append(got, name)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

// TestConfined: no path is opened through a link of any kind, and nothing is written through one.
func TestConfined(t *testing.T) {
	outside, root := t.TempDir(), t.TempDir()
	treetest.In(t, outside).File("secret", []byte("s"))
	to := treetest.In(t, root)
	to.Must(os.Symlink(outside, root+"/out"))
	to.Must(os.Symlink(outside+"/secret", root+"/file"))
	tr := open(t, root)
	for _, stepwise := range []bool{tr.stepwise, true} {
		tr.stepwise = stepwise
		cursor := tr.Cursor()
		defer cursor.Close()
		for _, path := range []string{"out/secret", "file", "../" + filepath.Base(outside) + "/secret", outside + "/secret", "out/../out/secret"} {
			if c, err := cursor.Open(path); err == nil {
				t.Errorf("%q was opened (%v)", path, c)
			}
			if _, err := cursor.OpenToWrite(path); err == nil {
				t.Errorf("%q was opened to be written", path)
			}
		}
		made := entry.Entry{Path: "out/made", Kind: entry.Directory}
		for what, err := range map[string]error{
			"made": cursor.Make(&made), "removed": cursor.Remove("out/secret"), "linked": cursor.Link("out/secret", "linked"),
			"changed": cursor.SetMetadata(&entry.Entry{Path: "out/secret", Kind: entry.File}), "created": second(cursor.Create("out/created")),
			"its mode changed": cursor.SetMetadata(&entry.Entry{Path: "file", Kind: entry.File, Mode: 0o777, UID: uint32(os.Getuid()), GID: uint32(os.Getgid())}),
		} {
			if err == nil {
				t.Errorf("something outside was %s", what)
			}
		}
		if err := cursor.Remove("file"); err != nil { // the link itself
			t.Error(err)
		}
		to.Must(os.Symlink(outside+"/secret", root+"/file"))
	}
	info, err := os.Stat(outside + "/secret")
	list, _ := os.ReadDir(outside)
	if err != nil || info.Mode() != 0o644 || len(list) != 1 {
		t.Errorf("outside: %v %v %v", info.Mode(), list, err)
	}
}

func second[A any](_ A, err error) error { return err }

// TestPipe: a pipe in place of a file does not block.
func TestPipe(t *testing.T) {
	root := t.TempDir()
	treetest.In(t, root).Must(unix.Mkfifo(root+"/pipe", 0o600))
	cursor := open(t, root).Cursor()
	defer cursor.Close()
	if _, err := cursor.Open("pipe"); !errors.Is(err, ErrChanged) {
		t.Errorf("got %v", err)
	}
}
