package transfer

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/sliceshift/sliceshift/internal/treetest"
)

// TestK12DeviceNodes: device nodes are created only if that is allowed, and otherwise named. All other entries
// are unaffected.
func TestK12DeviceNodes(t *testing.T) {
	treetest.NeedRoot(t)
	node := func(p *pair, name string, kind uint32, major, minor uint32) {
		t.Helper()
		if err := unix.Mknod(filepath.Join(p.source, name), kind|0o666, int(unix.Mkdev(major, minor))); err != nil {
			t.Fatal(err)
		}
	}
	for name, tc := range map[string]struct {
		allowed bool
		stage   func(*pair)
		want    []string
	}{
		"a disk":  {stage: func(p *pair) { node(p, "dir/disk", unix.S_IFBLK, 8, 0) }, want: []string{`"dir/disk"`, "--devices"}},
		"memory":  {stage: func(p *pair) { node(p, "mem", unix.S_IFCHR, 1, 1) }, want: []string{`"mem"`}},
		"several": {stage: func(p *pair) { node(p, "a", unix.S_IFCHR, 1, 1); node(p, "dir/b", unix.S_IFBLK, 8, 0) }, want: []string{`"a", "dir/b"`}},
		"too many to name": {stage: func(p *pair) {
			for n := range strings.SplitSeq("abcdefgh", "") {
				node(p, "dir/"+n, unix.S_IFCHR, 1, 1)
			}
		}, want: []string{`"dir/e", and maybe more`}},
		"where a file was": {stage: func(p *pair) {
			node(p, "mem", unix.S_IFCHR, 1, 1)
			treetest.In(t, p.destination).File("mem", []byte("x"))
		}, want: []string{`"mem"`}},
		"allowed":               {allowed: true, stage: func(p *pair) { node(p, "dir/disk", unix.S_IFBLK, 8, 0); node(p, "mem", unix.S_IFCHR, 1, 1) }},
		"a whiteout of overlay": {stage: func(p *pair) { node(p, "dir/gone", unix.S_IFCHR, 0, 0) }},
		"a pipe and a socket":   {stage: func(p *pair) { node(p, "pipe", unix.S_IFIFO, 0, 0); node(p, "socket", unix.S_IFSOCK, 0, 0) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, settled := range []bool{false, true} {
				p := newPair(t)
				p.changeReceiver = func(o *ReceiverOptions) { o.Devices = tc.allowed }
				treetest.In(t, p.source).File("dir/file", []byte("hello"))
				tc.stage(p)
				_, err := p.run(settled)
				if len(tc.want) == 0 {
					if err != nil {
						t.Fatal(err)
					}
					treetest.Equal(t, p.source, p.destination)
					continue
				}
				if err == nil {
					t.Fatal("it was copied")
				}
				for _, want := range tc.want {
					if !strings.Contains(err.Error(), want) {
						t.Errorf("it does not say %q: %v", want, err)
					}
				}
				treetest.In(t, p.destination).Must(filepath.WalkDir(p.destination, func(path string, d os.DirEntry, err error) error {
					if err == nil && d.Type()&os.ModeDevice != 0 {
						t.Errorf("%s was made", path)
					}
					return err
				}))
			}
		})
	}
}
