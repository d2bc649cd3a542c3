package differ

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sliceshift/sliceshift/mover/entry"
)

func TestDecide(t *testing.T) {
	at := entry.Time{Sec: 5, Nsec: 5}
	file := entry.Entry{Path: "x", Kind: entry.File, Size: 3, Modified: at, Names: 1}
	with := func(change func(*entry.Entry)) *entry.Entry {
		e := file
		change(&e)
		return &e
	}
	anew := Action{Remove: true, Make: true, Metadata: true}
	for name, tc := range map[string]struct {
		source, own *entry.Entry
		how         Compare
		want        Action
	}{
		"nothing is there":               {&file, nil, Quick, Action{Make: true, Fetch: true, Metadata: true}},
		"a folder, and nothing is there": {with(func(e *entry.Entry) { e.Kind = entry.Directory }), nil, Quick, Action{Make: true, Metadata: true}},
		"equal":                          {&file, &file, Quick, Action{}},
		"equal, by content":              {&file, &file, Content, Action{Fetch: true, Metadata: true}},
		"another size":                   {&file, with(func(e *entry.Entry) { e.Size++ }), Quick, Action{Fetch: true, Metadata: true}},
		"a nanosecond later":             {&file, with(func(e *entry.Entry) { e.Modified.Nsec++ }), Quick, Action{Fetch: true, Metadata: true}},
		"another mode":                   {&file, with(func(e *entry.Entry) { e.Mode = 1 }), Quick, Action{Metadata: true}},
		"another owner":                  {&file, with(func(e *entry.Entry) { e.UID = 1 }), Quick, Action{Metadata: true}},
		"another xattr":                  {&file, with(func(e *entry.Entry) { e.Xattrs = []entry.Xattr{{Name: "user.x"}} }), Quick, Action{Metadata: true}},
		"another kind":                   {with(func(e *entry.Entry) { e.Kind = entry.Pipe }), &file, Quick, anew},
		"a file with other names there":  {&file, with(func(e *entry.Entry) { e.Names = 2 }), Quick, Action{Remove: true, Make: true, Fetch: true, Metadata: true}},
		"a file with names on both":      {with(func(e *entry.Entry) { e.Names = 2 }), with(func(e *entry.Entry) { e.Names = 2 }), Quick, Action{}},
		"a link elsewhere":               {with(func(e *entry.Entry) { e.Kind, e.Target = entry.Symlink, "a" }), with(func(e *entry.Entry) { e.Kind, e.Target = entry.Symlink, "b" }), Quick, anew},
		"another device":                 {with(func(e *entry.Entry) { e.Kind, e.Device = entry.CharDevice, 1 }), with(func(e *entry.Entry) { e.Kind, e.Device = entry.CharDevice, 2 }), Quick, anew},
		"a block device as a volume":     {with(func(e *entry.Entry) { e.Kind = entry.Device }), with(func(e *entry.Entry) { e.Kind = entry.Device }), Quick, Action{Fetch: true, Metadata: true}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, Decide(tc.source, tc.own, tc.how)); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

func TestDifference(t *testing.T) {
	file := entry.Entry{Kind: entry.File, Size: 3, Digest: [32]byte{1}}
	for want, change := range map[string]func(source, own *entry.Entry){
		"":                   func(_, _ *entry.Entry) {},
		"size 3 and 4":       func(_, b *entry.Entry) { b.Size = 4 },
		"content":            func(_, b *entry.Entry) { b.Digest[0] = 2 },
		"mode 4755 and 0000": func(a, _ *entry.Entry) { a.Mode = 0o4755 },
		"owner 1:2 and 0:0":  func(a, _ *entry.Entry) { a.UID, a.GID = 1, 2 },
		"modified at 1.000000002 and 0.000000000":           func(a, _ *entry.Entry) { a.Modified = entry.Time{Sec: 1, Nsec: 2} },
		"extended attributes (user.a and none)":             func(a, _ *entry.Entry) { a.Xattrs = []entry.Xattr{{Name: "user.a"}} },
		"a file at the source, a folder at the destination": func(_, b *entry.Entry) { b.Kind = entry.Directory },
		`a hard link to "a" at the source, to "b" at the destination`: func(a, b *entry.Entry) {
			*a, *b = entry.Entry{Kind: entry.Link, Target: "a"}, entry.Entry{Kind: entry.Link, Target: "b"}
		},
	} {
		a, b := file, file
		change(&a, &b)
		if got := Difference(&a, &b); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	moving, other := file, file
	moving.Digest, other.Size = [32]byte{}, 99
	if got := Difference(&moving, &other); got != "" {
		t.Errorf("a file that changed while it was read: %s", got)
	}
}
