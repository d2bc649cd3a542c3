package transfer

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sliceshift/sliceshift/internal/treetest"
	"github.com/sliceshift/sliceshift/mover/differ"
	"github.com/sliceshift/sliceshift/mover/tree"
)

// disks are the trusted file systems, if a test can create them.
var disks = []string{"ext4", "xfs", "btrfs"}

const (
	victim = "victim"
	bulk   = 4096 // bytes of the victim, a page
)

// onDisks returns a pair between two disks. It has a file to change and another one.
func onDisks(t *testing.T, system string) (p *pair, source, destination *treetest.Disk) {
	t.Helper()
	source, destination = treetest.NewDisk(t, system), treetest.NewDisk(t, system)
	p = changing(t)
	p.source, p.destination = source.Root, destination.Root
	scratch, later := t.TempDir(), func() time.Time { return time.Now().Add(time.Hour) }
	p.changeSender = func(o *SenderOptions) {
		from := o.Source.(*tree.Tree)
		o.Scratch, o.Now = scratch, later
		o.Reading = func(now time.Time) differ.Reading { return from.Reading("web-0.1", "sender", now) }
	}
	p.changeReceiver = func(o *ReceiverOptions) { o.Copy, o.Now, o.Verify = "web-0.1", later, VerifyChanged }
	t.Cleanup(p.closeTrees)
	from := treetest.In(t, p.source)
	from.File(victim, treetest.Bytes(1, bulk))
	from.File("other", treetest.Bytes(2, 10_000))
	from.Age(victim, 1_700_000_000, 123_456_789)
	return p, source, destination
}

// closeTrees closes the trees of the two disks.
func (p *pair) closeTrees() {
	for _, opened := range p.opened {
		_ = opened.Close()
	}
	p.opened = nil
}

// mapped is a file that is written through a memory map.
type mapped struct {
	treetest.Tree
	memory []byte
}

func mapFile(to treetest.Tree, name string) *mapped {
	f, err := os.OpenFile(to.Root+"/"+name, os.O_RDWR, 0)
	to.Must(err)
	memory, err := unix.Mmap(int(f.Fd()), 0, bulk, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	to.Must(errors.Join(err, f.Close()))
	return &mapped{to, memory}
}

// flip changes a byte.
func (m *mapped) flip(at int) { m.memory[at] ^= 1 }

func (m *mapped) end() { m.Must(unix.Munmap(m.memory)) }

// age sets the victim's original time.
func age(to treetest.Tree) { to.Age(victim, 1_700_000_000, 123_456_789) }

func overwrite(to treetest.Tree) {
	f, err := os.OpenFile(to.Root+"/"+victim, os.O_WRONLY, 0)
	to.Must(err)
	_, err = f.WriteAt([]byte{^treetest.Bytes(1, bulk)[77]}, 77)
	to.Must(errors.Join(err, f.Close()))
}

// writes are ways to change a byte of the victim after a warm pass has read it. Some do not change its size and
// modification time. A function is called at the end of that pass's sync of the source, if there is one.
var writes = map[string]func(to treetest.Tree, warm func(then func())){
	"pwrite": func(to treetest.Tree, warm func(then func())) {
		warm(nil)
		overwrite(to)
		age(to)
	},
	"a memory map": func(to treetest.Tree, warm func(then func())) {
		warm(nil)
		m := mapFile(to, victim)
		m.flip(77)
		m.end()
		age(to)
	},
	"a page that was mapped and written to before": func(to treetest.Tree, warm func(then func())) {
		m := mapFile(to, victim)
		m.flip(5)
		age(to)
		warm(nil)
		m.flip(77)
		m.end()
		age(to)
	},
	"a file that was renamed over it": func(to treetest.Tree, warm func(then func())) {
		warm(nil)
		to.File("new", treetest.Bytes(3, bulk))
		to.Age("new", 1_700_000_000, 123_456_789)
		to.Must(os.Rename(to.Root+"/new", to.Root+"/"+victim))
	},
	"a file that was made before, renamed over it": func(to treetest.Tree, warm func(then func())) {
		to.File("aside", treetest.Bytes(3, bulk))
		to.Age("aside", 1_700_000_000, 123_456_789)
		warm(nil)
		to.Must(os.Rename(to.Root+"/aside", to.Root+"/"+victim))
	},
	"a file made anew, with the inode that is free": func(to treetest.Tree, warm func(then func())) {
		warm(nil)
		to.Must(os.Remove(to.Root + "/" + victim))
		to.File(victim, treetest.Bytes(3, bulk))
		age(to)
	},
	"after the sync, and once more": func(to treetest.Tree, warm func(then func())) {
		m := mapFile(to, victim)
		warm(func() {
			m.flip(5)
			age(to)
		})
		m.flip(77)
		m.end()
		age(to)
	},
}

// warmed lets a function change the victim around a warm pass.
func (p *pair) warmed(change func(to treetest.Tree, warm func(then func()))) {
	p.Helper()
	changes, afterSync := p.changeSender, func() {}
	p.changeSender = func(o *SenderOptions) {
		changes(o)
		sync := o.Sync
		o.Sync = func() error {
			err := sync()
			afterSync()
			return err
		}
	}
	change(treetest.In(p, p.source), func(then func()) {
		if then != nil {
			afterSync = then
			defer func() { afterSync = func() {} }()
		}
		if !p.mustRun(false).Kept {
			p.Fatal("nothing was kept")
		}
	})
}

// TestChangedSeesEveryWrite: on real file systems a byte that is changed after a warm pass has read it is
// found, by whatever call it is written, even if size and modification time are unchanged.
func TestChangedSeesEveryWrite(t *testing.T) {
	for _, system := range disks {
		for name, change := range writes {
			t.Run(system+"/"+name, func(t *testing.T) {
				p, _, _ := onDisks(t, system)
				p.warmed(change)
				_, err := p.run(true)
				if err != nil && !errors.Is(err, ErrDifferent) {
					t.Fatal(err)
				}
				if err == nil {
					// The pass itself has found and copied it. A comparison that reads everything confirms
					// that.
					treetest.Same(t, p.source, p.destination)
				}
				p.with(func(o *ReceiverOptions) { o.Compare, o.Verify = differ.Content, VerifyFull }).mustRun(true)
				treetest.Same(t, p.source, p.destination)
			})
		}
	}
}

// TestLaterCopiesEveryWrite: with Later the last pass copies each of these writes, because the ordinal starts on that copy
// before the source is read.
func TestLaterCopiesEveryWrite(t *testing.T) {
	for _, system := range disks {
		for name, change := range writes {
			t.Run(system+"/"+name, func(t *testing.T) {
				p, _, _ := onDisks(t, system)
				p.with(func(o *ReceiverOptions) { o.Verify = VerifyLater }).warmed(change)
				p.mustRun(true)
				treetest.Same(t, p.source, p.destination)
			})
		}
	}
}

// TestChangedReadsWhatIsYoung: by the real clock, files that had changed within 60 s before the sync are read
// again. By a clock that is an hour ahead, none is. The same holds after both disks were unmounted and mounted
// again.
func TestChangedReadsWhatIsYoung(t *testing.T) {
	for _, system := range disks {
		t.Run(system, func(t *testing.T) {
			p, source, destination := onDisks(t, system)
			const all = bulk + 10_000
			p.mustRun(false)
			p.wantRead(all, all)
			p.closeTrees()
			for _, disk := range []*treetest.Disk{source, destination} {
				disk.Unmount()
				disk.Mount()
			}
			p.mustRun(false)
			p.wantRead(0, 0)
			changeSender, changeReceiver := p.changeSender, p.changeReceiver
			p.changeSender = func(o *SenderOptions) {
				changeSender(o)
				o.Now = time.Now
			}
			p.with(func(o *ReceiverOptions) { o.Now = time.Now })
			if outcome := p.mustRun(false); outcome.Kept || outcome.Own.Known != 0 {
				t.Errorf("%+v is known of files that are a moment old", outcome.Own)
			}
			p.wantRead(all, all) // the clock has also gone back by an hour
			p.mustRun(true)
			p.wantRead(all, all)
			p.changeSender, p.changeReceiver = changeSender, changeReceiver
		})
	}
}

// TestChangedByAClockThatWasSet: if the clock was set forward or back since a warm pass, everything is read.
func TestChangedByAClockThatWasSet(t *testing.T) {
	for name, by := range map[string]time.Duration{"back": -2 * time.Second, "on": 2 * time.Second} {
		t.Run(name, func(t *testing.T) {
			p, _, _ := onDisks(t, "ext4")
			p.mustRun(false)
			set := func() time.Time { return time.Now().Add(time.Hour + by) }
			changes := p.changeSender
			p.changeSender = func(o *SenderOptions) {
				changes(o)
				o.Now = set
			}
			p.with(func(o *ReceiverOptions) { o.Now = set }).mustRun(true)
			p.wantRead(bulk+10_000, bulk+10_000)
		})
	}
}

// TestChangedSeesMounts: a mount over a file since a warm pass has read it is refused, whether it is of another
// file system or of the same one.
func TestChangedSeesMounts(t *testing.T) {
	for name, file := range map[string]string{"of another file system": "", "of the same": "other"} {
		t.Run(name, func(t *testing.T) {
			p, _, _ := onDisks(t, "ext4")
			from := treetest.In(t, p.source)
			p.mustRun(false)
			over := p.source + "/" + file
			if file == "" {
				over = t.TempDir() + "/file"
				from.Must(os.WriteFile(over, treetest.Bytes(5, bulk), 0o600))
			}
			if out, err := exec.Command("mount", "--bind", over, p.source+"/"+victim).CombinedOutput(); err != nil {
				t.Fatalf("mount: %v: %s", err, out)
			}
			_, err := p.run(true)
			if out, err := exec.Command("umount", p.source+"/"+victim).CombinedOutput(); err != nil {
				t.Fatalf("umount: %v: %s", err, out)
			}
			if err == nil || !strings.Contains(err.Error(), victim) {
				t.Errorf("got %v", err)
			}
		})
	}
}

// TestChangedDoesNotSeeDamage: if a byte of a trusted file decays on the disk itself, Changed does not find it,
// and Full does, as docs/engineering/mover.md states.
func TestChangedDoesNotSeeDamage(t *testing.T) {
	for _, system := range []string{"ext4", "xfs"} {
		t.Run(system, func(t *testing.T) {
			p, _, destination := onDisks(t, system)
			p.mustRun(false)
			p.closeTrees()
			destination.Unmount()
			damage(t, destination.Image)
			destination.Mount()
			outcome := p.mustRun(true)
			if outcome.Own.Trusted != bulk+10_000 || outcome.Own.Root != outcome.Peer.Root {
				t.Errorf("%+v", outcome.Own)
			}
			_, err := p.with(func(o *ReceiverOptions) { o.Verify = VerifyFull }).run(true)
			if !errors.Is(err, ErrDifferent) || !strings.Contains(err.Error(), victim) {
				t.Errorf("Full: got %v", err)
			}
		})
	}
}

// damage changes a byte of the victim on its disk.
func damage(t *testing.T, image string) {
	t.Helper()
	to := treetest.In(t, "")
	content, err := os.ReadFile(image)
	to.Must(err)
	at := bytes.Index(content, treetest.Bytes(1, bulk))
	if at < 0 {
		t.Fatal("the file is not on the disk")
	}
	f, err := os.OpenFile(image, os.O_WRONLY, 0)
	to.Must(err)
	_, err = f.WriteAt([]byte{content[at+77] ^ 1}, int64(at+77))
	to.Must(errors.Join(err, f.Sync(), f.Close()))
}
