package transfer

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/sliceshift/sliceshift/internal/treetest"
	"github.com/sliceshift/sliceshift/mover/wire"
)

// TestDiscard: a volume is only to be discarded if the destination's own disk has failed.
func TestDiscard(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		err  error
		want bool
	}{
		"its disk":          {fmt.Errorf("writing: %w", syscall.EIO), true},
		"the sender's disk": {fatal{&remote{path: "x", problem: syscall.EIO.Error()}}, false},
		"no space":          {syscall.ENOSPC, false},
		"nothing":           {nil, false},
	} {
		if got := errors.Is(broken(tc.err), ErrDiscard); got != tc.want {
			t.Errorf("%s: %v", name, broken(tc.err))
		}
	}
}

// TestDiscardBeside: a failure of the disk is reported once, so it counts whatever else ends the pass first.
func TestDiscardBeside(t *testing.T) {
	t.Parallel()
	failed := fmt.Errorf("writing: %w", syscall.EIO)
	for name, tc := range map[string]struct {
		noted, ended error
		want         bool
	}{
		"the link first":     {failed, context.Canceled, true},
		"the sender first":   {failed, fatal{&remote{path: "x", problem: "it is gone"}}, true},
		"the disk":           {failed, fatal{failed}, true},
		"the disk is well":   {syscall.ENOSPC, context.Canceled, false},
		"nothing was at all": {nil, nil, false},
	} {
		r := &Receiver{}
		_ = r.note(tc.noted)
		got := r.judge(tc.ended)
		if errors.Is(got, ErrDiscard) != tc.want || !errors.Is(got, tc.ended) {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestDiskFails: writes succeed, and only a sync reports that they never reached the disk. Small files have no sync of
// their own on this file system, so that of the whole file system must report it.
func TestDiskFails(t *testing.T) {
	for name, size := range map[string]int{"small files": 10_000, "larger files": wire.SmallFile + 1} {
		t.Run(name, func(t *testing.T) {
			disk := treetest.NewFailingDisk(t, 16<<20)
			p := newPair(t)
			p.pipes, p.destination = newPipes(), disk.Root
			t.Cleanup(p.closeTrees)
			from := treetest.In(t, p.source)
			for i := range 32 << 20 / size {
				from.File(fmt.Sprintf("%d/%d", i%7, i), treetest.Bytes(uint64(i)+1, size))
			}
			if _, err := p.run(true); !errors.Is(err, ErrDiscard) && !errors.Is(err, syscall.ENOSPC) { // of the file below
				t.Errorf("got %v", err)
			}
		})
	}
}

// TestFull: a full destination is reported as full, and is no reason to discard it. It has a lost+found, which
// stays.
func TestFull(t *testing.T) {
	t.Parallel()
	device, _ := treetest.Loop(t, 8<<20)
	p := newPair(t)
	p.pipes = newPipes()
	for _, command := range [][]string{{"mkfs.ext4", "-q", device}, {"mount", device, p.destination}} {
		if out, err := exec.Command(command[0], command[1:]...).CombinedOutput(); err != nil {
			t.Skipf("%v: %v: %s", command, err, out)
		}
	}
	defer func() {
		for _, opened := range p.opened {
			_ = opened.Close()
		}
		if out, err := exec.Command("umount", p.destination).CombinedOutput(); err != nil {
			t.Errorf("umount: %v: %s", err, out)
		}
	}()
	from := treetest.In(t, p.source)
	from.File("small", treetest.Bytes(1, 1000))
	p.mustRun(true)
	full := func(files string) {
		t.Helper()
		_, err := p.run(true)
		if err == nil || !strings.Contains(err.Error(), "the destination is full: enlarge its claim") || errors.Is(err, ErrDiscard) {
			t.Errorf("%s: got %v", files, err)
		}
	}
	from.File("large", treetest.Bytes(2, 16<<20))
	full("a large file")
	from.Must(os.Remove(p.source + "/large"))
	for i := range 400 {
		from.File(fmt.Sprintf("many/%d", i), treetest.Bytes(uint64(i)+1, 40_000))
	}
	full("small files, several to a request")
	if out, err := exec.Command("test", "-d", p.destination+"/lost+found").CombinedOutput(); err != nil {
		t.Errorf("lost+found: %v %s", err, out)
	}
}
