package differ

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/sliceshift/sliceshift/mover/entry"
)

const synced = 1000

// unchanged returns a file and its record, between which nothing has changed.
func unchanged() (entry.Entry, Record) {
	now := entry.Entry{Path: "x", Kind: entry.File, Size: 3, Modified: entry.Time{Sec: 900}, Changed: entry.Time{Sec: synced - 60}, Inode: entry.ID{Dev: 1, Ino: 7}}
	then := RecordOf(&now, "7:1", entry.Time{Sec: synced})
	then.Inode.Dev = 9 // a disk may have another number the next time
	return now, then
}

// TestTrusted: a file is read again if anything contradicts its record.
func TestTrusted(t *testing.T) {
	now, then := unchanged()
	if !Trusted(&now, "7:1", then) {
		t.Error("what has not changed is read again")
	}
	for what, change := range map[string]func(*entry.Entry, *Record){
		"another path":               func(e *entry.Entry, _ *Record) { e.Path = "y" },
		"another inode":              func(e *entry.Entry, _ *Record) { e.Inode.Ino++ },
		"the inode, used again":      func(_ *entry.Entry, r *Record) { r.Handle = "7:0" },
		"no generation known before": func(_ *entry.Entry, r *Record) { r.Handle = "" },
		"another size":               func(e *entry.Entry, _ *Record) { e.Size++ },
		"modified":                   func(e *entry.Entry, _ *Record) { e.Modified.Nsec++ },
		"modified before":            func(e *entry.Entry, _ *Record) { e.Modified.Sec-- },
		"changed":                    func(e *entry.Entry, _ *Record) { e.Changed.Nsec++ },
		"changed, by a clock behind": func(e *entry.Entry, _ *Record) { e.Changed.Sec -= 100 },
		"a link by now":              func(e *entry.Entry, _ *Record) { e.Kind = entry.Link },
		"a pipe by now":              func(e *entry.Entry, _ *Record) { e.Kind = entry.Pipe },
		"59.999999999 s of it":       func(_ *entry.Entry, r *Record) { r.Synced = entry.Time{Sec: synced - 1, Nsec: 999_999_999} },
		"changed after sync":         func(e *entry.Entry, r *Record) { e.Changed.Sec = synced + 5; r.Changed = e.Changed },
	} {
		e, r := unchanged()
		change(&e, &r)
		if Trusted(&e, "7:1", r) {
			t.Errorf("%s: it is trusted", what)
		}
	}
}

// TestHolds: the findings of a reading count only for the same volume, kernel and clock.
func TestHolds(t *testing.T) {
	then := Reading{Copy: "web-0.1", Side: "sender", FileSystem: "ext4", Volume: "2.5", Boot: "b", Clock: 5e18, Synced: entry.Time{Sec: synced}}
	later := then
	later.Synced.Sec++
	later.Clock += 999_999_999 // the offset of a clock that is corrected gradually
	if !then.Holds(later) || !then.Holds(then) {
		t.Error("the same volume does not count")
	}
	for _, system := range []string{"ext4", "xfs", "btrfs"} {
		a, b := then, later
		a.FileSystem, b.FileSystem = system, system
		if !a.Holds(b) {
			t.Errorf("%s does not count", system)
		}
	}
	for _, system := range []string{"nfs", "fuse", "tmpfs", "overlay", "cifs", "ceph", "f2fs", "0x1", ""} {
		a, b := then, later
		a.FileSystem, b.FileSystem = system, system
		if a.Holds(b) {
			t.Errorf("%q counts", system)
		}
	}
	for what, change := range map[string]func(then, now *Reading){
		"another copy":             func(_, now *Reading) { now.Copy = "web-0.2" },
		"the other side":           func(_, now *Reading) { now.Side = "receiver" },
		"another volume":           func(_, now *Reading) { now.Volume = "2.6" },
		"another file system":      func(_, now *Reading) { now.FileSystem = "xfs" },
		"the machine began anew":   func(_, now *Reading) { now.Boot = "c" },
		"the clock was set back":   func(then, now *Reading) { now.Clock = then.Clock - 1_000_000_001 },
		"the clock was set on":     func(then, now *Reading) { now.Clock = then.Clock + 1_000_000_001 },
		"it is earlier than then":  func(_, now *Reading) { now.Synced.Sec = synced - 1 },
		"nobody says which copy":   func(then, now *Reading) { then.Copy, now.Copy = "", "" },
		"nobody says which side":   func(then, now *Reading) { then.Side, now.Side = "", "" },
		"nobody says which volume": func(then, now *Reading) { then.Volume, now.Volume = "", "" },
		"nobody says which kernel": func(then, now *Reading) { then.Boot, now.Boot = "", "" },
	} {
		a, b := then, later
		change(&a, &b)
		if a.Holds(b) {
			t.Errorf("%s: it counts", what)
		}
	}
}

// TestNoWriteIsTrusted: a write to a file from the sync on, by any call, has a change time no earlier than the
// sync. So no file is trusted that was written after it was read, whatever its other times were set to, as long
// as the clock was not set.
func TestNoWriteIsTrusted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		at := func(name string, from, to int64) entry.Time {
			return entry.Time{Sec: rapid.Int64Range(from, to).Draw(t, name), Nsec: rapid.Uint32Range(0, 999_999_999).Draw(t, name+" nanoseconds")}
		}
		now := entry.Entry{Path: "x", Kind: entry.File, Size: rapid.Int64Range(0, 3).Draw(t, "size"), Inode: entry.ID{Ino: 7}}
		now.Modified, now.Changed = at("modified", 0, 2000), at("changed", 800, 1100)
		then := RecordOf(&now, "7:1", entry.Time{Sec: synced})
		written := at("written", synced, 2000)
		if rapid.Bool().Draw(t, "a page that was under way at the sync") {
			// Its time is that of its start, and it is written back up to 30 s later.
			written = now.Changed
			if (entry.Time{Sec: synced - 30}).Compare(written) > 0 {
				t.Skip("it is on the disk")
			}
		}
		now.Changed = written
		now.Modified = at("modified, set back", 0, 2000)
		if Trusted(&now, "7:1", then) {
			t.Fatalf("%+v is trusted by %+v", now, then)
		}
	})
}
