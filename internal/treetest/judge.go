package treetest

import (
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vbatts/go-mtree"
)

// Required is the environment variable that makes a judge that is not installed a failure.
const Required = "SLICESHIFT_MOVER_JUDGES"

// Equal fails the test where two trees are not equal: by rsync, by go-mtree, and by their holes.
func Equal(t testing.TB, source, destination string) {
	t.Helper()
	byRsync(t, source, destination)
	byMtree(t, source, destination)
	sameHoles(t, source, destination)
}

// byRsync has rsync say what it would change. Without --delete and -i it would be silent about what is too
// much, without the window about parts of seconds; a tebibyte of holes is too much for it to read.
func byRsync(t testing.TB, source, destination string) {
	t.Helper()
	path, err := exec.LookPath("rsync")
	if err != nil {
		if os.Getenv(Required) != "" {
			t.Fatal("rsync is not installed")
		}
		t.Log("rsync is not installed: judged without it")
		return
	}
	args := []string{"-n", "-i", "--delete", "--modify-window=-1", "-aAXH", "--exclude=/lost+found"}
	for _, more := range [][]string{append([]string{"-c"}, tooLarge(t, source)...), {}} {
		cmd := exec.Command(path, append(append(args, more...), source+"/", destination+"/")...)
		var out, complaints bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &complaints
		if err := cmd.Run(); err != nil {
			t.Fatalf("rsync: %v: %s", err, complaints.String())
		}
		if out.Len() > 0 {
			t.Errorf("rsync would still change (%v):\n%s", more, out.String())
		}
	}
}

// tooLarge are the files that nobody reads whole in a test.
func tooLarge(t testing.TB, root string) (exclude []string) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		if info, err := d.Info(); err == nil && info.Size() > huge {
			exclude = append(exclude, "--exclude=/"+strings.TrimPrefix(path, root+"/"))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return exclude
}

// huge is the size, in bytes, of a file that consists of holes.
const huge = 1 << 30

var keywords = append(append([]mtree.Keyword{}, mtree.DefaultKeywords...), "sha256digest", "xattr", "time")

// byMtree compares specifications of both trees.
func byMtree(t testing.TB, source, destination string) {
	t.Helper()
	// It would read all zeros of a file with holes.
	exclude := func(_ string, info os.FileInfo) bool { return info.Size() > huge || info.Name() == "lost+found" }
	spec, err := mtree.Walk(source, []mtree.ExcludeFunc{exclude}, keywords, nil)
	if err != nil {
		t.Fatal(err)
	}
	other, err := mtree.Walk(destination, []mtree.ExcludeFunc{exclude}, keywords, nil)
	if err != nil {
		t.Fatal(err)
	}
	// A folder's size is its file system's affair.
	deltas, err := mtree.Compare(spec, other, keywords)
	if err != nil {
		t.Fatal(err)
	}
	for _, delta := range deltas {
		for _, key := range delta.Diff() {
			if key.Name() != "size" || !isFolder(filepath.Join(source, delta.Path())) {
				t.Errorf("go-mtree: %s %s: %s differs (%v, %v)", delta.Type(), delta.Path(), key.Name(), key.Old(), key.New())
			}
		}
		if len(delta.Diff()) == 0 {
			t.Errorf("go-mtree: %s %s", delta.Type(), delta.Path())
		}
	}
}

func isFolder(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.IsDir()
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
