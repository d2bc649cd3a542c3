package transfer

import (
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/sliceshift/sliceshift/internal/treetest"
	"github.com/sliceshift/sliceshift/mover/differ"
	"github.com/sliceshift/sliceshift/mover/tree"
)

// busy is a source under concurrent writes: happen is called when a path is opened to be sent.
type busy struct {
	tree.Source
	happen func(path string)
}

func (b busy) NewReader() tree.Reader { return busyReader{b.Source.NewReader(), b.happen} }

type busyReader struct {
	tree.Reader
	happen func(path string)
}

func (r busyReader) Open(path string) (tree.Content, error) {
	r.happen(path)
	return r.Reader.Open(path)
}

func (r busyReader) Small(files []tree.Small, done func(*tree.Small) error) error {
	for _, f := range files {
		r.happen(f.Path)
	}
	return r.Reader.Small(files, done)
}

// TestBusySource: in a warm pass a file that vanishes or changes is left to the next one. In the last pass it
// is an error that names the file.
func TestBusySource(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		file string
		act  func(path string) error
		want string // of the last pass
	}{
		"M-092: a small file vanishes": {"small", os.Remove, `"small" vanished while it was copied`},
		"M-092: a large file vanishes": {"large", os.Remove, `"large" vanished while it was copied`},
		"a small file grows":           {"small", appendTo, `"small" changed while it was copied`},
		"a large file grows":           {"large", appendTo, `"large" changed while it was copied`},
		"a large file shrinks":         {"large", func(path string) error { return os.Truncate(path, 100) }, `"large" changed while it was copied`},
		"a file becomes a link": {"small", func(path string) error {
			if err := os.Remove(path); err != nil {
				return err
			}
			return os.Symlink("/etc/passwd", path)
		}, `"small" vanished while it was copied`},
	} {
		for _, settled := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				p := newPair(t)
				p.pipes = newPipes()
				from := treetest.In(t, p.source)
				from.File("small", []byte("small"))
				from.File("large", treetest.Bytes(1, 1<<20))
				from.File("other", []byte("other"))
				var once sync.Once
				p.changeSender = func(o *SenderOptions) {
					o.Source = busy{o.Source, func(path string) {
						if path == tc.file {
							once.Do(func() { from.Must(tc.act(p.source + "/" + path)) })
						}
					}}
				}
				p.changeReceiver = func(o *ReceiverOptions) { o.Verify = VerifyNone }
				_, err := p.run(settled)
				if settled {
					if err == nil || !strings.Contains(err.Error(), tc.want) {
						t.Fatalf("got %v, want %s", err, tc.want)
					}
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				c := &p.receiver.Counts
				if n := c.Vanished.Load() + c.Changed.Load(); n != 1 {
					t.Errorf("%d files are left to the next pass, not 1", n)
				}
				p.changeSender, p.changeReceiver = nil, nil
				p.mustRun(true)
				treetest.Same(t, p.source, p.destination)
			})
		}
	}
}

func appendTo(path string) error {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	if _, err := f.WriteString("more"); err != nil {
		return err
	}
	return f.Close()
}

// TestContent: different content with the same size and time is missed by a quick comparison, found by the
// seal, and fixed by a comparison of contents.
func TestContent(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	p.pipes = newPipes()
	for root, content := range map[string]string{p.source: "one", p.destination: "two"} {
		to := treetest.In(t, root)
		to.File("small", []byte(content))
		to.File("large", []byte(strings.Repeat(content, 100_000)))
		for _, name := range []string{"small", "large", ""} {
			to.Age(name, 1000, 1)
		}
	}
	outcome, err := p.run(true)
	if err == nil || !strings.Contains(err.Error(), `the two sides differ in 2 entries, first in "large": content`) || outcome.Differences != 2 {
		t.Fatalf("got %v", err)
	}
	p.changeReceiver = func(o *ReceiverOptions) { o.Compare = differ.Content }
	p.mustRun(true)
	treetest.Same(t, p.source, p.destination)
}
