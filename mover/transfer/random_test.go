package transfer

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"

	"github.com/sliceshift/sliceshift/internal/treetest"
)

// editor makes random changes in a tree, and none outside it, wherever a link points. It skips impossible
// changes, such as a file in a file.
type editor struct {
	*rapid.T
	root *os.Root
}

func (e editor) path(label string) string {
	return rapid.SampledFrom([]string{"a", "b", "a/a", "a/b", "b/a", "a/b/a", "c", "c/d\xff"}).Draw(e.T, label)
}

// with opens a file, and does not wait if it is a pipe.
func (e editor) with(at string, flags int, do func(*os.File)) {
	if f, err := e.root.OpenFile(at, flags|unix.O_NONBLOCK, 0o644); err == nil {
		do(f)
		_ = f.Close()
	}
}

// edit makes one change.
func (e editor) edit() {
	at := e.path("path")
	_ = e.root.MkdirAll(path.Dir(at), 0o755)
	switch rapid.SampledFrom([]string{"write", "write", "sparse", "folder", "symlink", "link", "pipe", "remove", "mode", "time", "xattr", "patch", "rename"}).Draw(e.T, "change") {
	case "write":
		size := rapid.SampledFrom([]int{0, 1, 4096, 70_000, 200_000}).Draw(e.T, "size")
		content := treetest.Bytes(rapid.Uint64Max(9).Draw(e.T, "content"), size)
		e.with(at, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, func(f *os.File) { _, _ = f.Write(content) })
	case "sparse":
		size := rapid.Int64Range(0, 1<<20).Draw(e.T, "size")
		e.with(at, os.O_WRONLY, func(f *os.File) { _ = f.Truncate(size) })
	case "folder":
		_ = e.root.Mkdir(at, 0o755)
	case "symlink":
		_ = e.root.Symlink(rapid.SampledFrom([]string{"a", "../x", "/nowhere"}).Draw(e.T, "target"), at)
	case "link":
		_ = e.root.Link(e.path("target"), at)
	case "pipe":
		_ = unix.Mkfifo(e.root.Name()+"/pipe", 0o600)
	case "remove":
		_ = e.root.RemoveAll(at)
	case "mode":
		_ = e.root.Chmod(at, rapid.SampledFrom([]os.FileMode{0o700, 0o711 | os.ModeSetuid, 0o777 | os.ModeSticky}).Draw(e.T, "mode"))
	case "time":
		_ = e.root.Chtimes(at, time.Time{}, time.Unix(rapid.Int64Range(0, 3).Draw(e.T, "seconds"), 7))
	case "xattr":
		name := rapid.SampledFrom([]string{"user.a", "user.b"}).Draw(e.T, "name")
		e.with(at, os.O_RDONLY, func(f *os.File) { _ = unix.Fsetxattr(int(f.Fd()), name, []byte("v"), 0) })
	case "patch":
		offset := rapid.Int64Range(0, 150_000).Draw(e.T, "offset")
		e.with(at, os.O_WRONLY, func(f *os.File) { _, _ = f.WriteAt([]byte("patch"), offset) })
	case "rename":
		_ = e.root.Rename(at, e.path("to"))
	}
}

// TestMain reduces the number of runs of TestRandom, each of which is at least four passes. The flag
// -rapid.checks sets another number.
func TestMain(m *testing.M) {
	if err := flag.Set("rapid.checks", "25"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// TestRandom: whatever was changed between two passes, on either side, the sides are equal after the second.
// Their roots and a comparison that shares no code with the mover confirm it.
func TestRandom(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	runs := 0
	rapid.Check(t, func(rt *rapid.T) {
		runs++
		p := &pair{TB: t, source: fmt.Sprintf("%s/%d/source", base, runs), destination: fmt.Sprintf("%s/%d/destination", base, runs), pipes: newPipes()}
		var roots [2]*os.Root
		for i, path := range []string{p.source, p.destination} {
			err := os.MkdirAll(path, 0o755)
			if err == nil {
				roots[i], err = os.OpenRoot(path)
			}
			if err != nil {
				rt.Fatal(err)
			}
		}
		defer func() {
			_ = errors.Join(roots[0].Close(), roots[1].Close(), os.RemoveAll(fmt.Sprintf("%s/%d", base, runs)))
		}()
		for pass := range 2 {
			for range rapid.IntRange(0, 12).Draw(rt, "edits of the source") {
				editor{rt, roots[0]}.edit()
			}
			for range rapid.IntRange(0, 4).Draw(rt, "edits of the destination") {
				editor{rt, roots[1]}.edit()
			}
			outcome, err := p.run(true)
			if err != nil && pass == 0 {
				// A change at the destination with the time and size of the source is found by the seal.
				continue
			}
			if err != nil {
				p.changeReceiver = byContent
				outcome, err = p.run(true)
			}
			if err != nil || outcome.Own.Root != outcome.Peer.Root {
				rt.Fatalf("%v: %+v", err, outcome)
			}
			treetest.Same(t, p.source, p.destination)
			if t.Failed() {
				rt.FailNow()
			}
		}
	})
}
