package entry

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

var name = rapid.StringMatching(`[a-c.!~]{1,3}`).Filter(func(s string) bool { return s != "." && s != ".." })

var path = rapid.Custom(func(t *rapid.T) string {
	return strings.Join(rapid.SliceOfN(name, 0, 4).Draw(t, "names"), "/")
})

// TestCompare: the order is that of lists of names, whatever characters sort before a slash.
func TestCompare(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := path.Draw(t, "a"), path.Draw(t, "b")
		names := func(path string) []string {
			if path == "" {
				return nil
			}
			return strings.Split(path, "/")
		}
		if got, want := Compare(a, b), slices.Compare(names(a), names(b)); got != want {
			t.Fatalf("%q and %q: got %d, want %d", a, b, got, want)
		}
		if folder, last := Split(a); a != "" && Join(folder, last) != a {
			t.Fatalf("%q is split into %q and %q", a, folder, last)
		}
		if got, want := Within(a, b), a != b && (b == "" || strings.HasPrefix(a, b+"/")); got != want {
			t.Fatalf("%q within %q: got %v", a, b, got)
		}
		if !Valid(a) {
			t.Fatalf("%q is not valid", a)
		}
	})
}

// TestRow: each field that is kept changes the row, and no other field does.
func TestRow(t *testing.T) {
	base := Entry{Path: "a", Kind: File, Size: 1, Modified: Time{1, 1}}
	row := string(AppendRow(nil, &base))
	for what, change := range map[string]func(*Entry){
		"path": func(e *Entry) { e.Path = "b" }, "kind": func(e *Entry) { e.Kind = Pipe }, "size": func(e *Entry) { e.Size = 2 },
		"mode": func(e *Entry) { e.Mode = 1 }, "owner": func(e *Entry) { e.UID = 1 }, "group": func(e *Entry) { e.GID = 1 },
		"seconds": func(e *Entry) { e.Modified.Sec = 2 }, "nanoseconds": func(e *Entry) { e.Modified.Nsec = 2 },
		"device": func(e *Entry) { e.Device = 1 }, "target": func(e *Entry) { e.Target = "x" }, "content": func(e *Entry) { e.Digest[31] = 1 },
		"xattr": func(e *Entry) { e.Xattrs = []Xattr{{Name: "user.x"}} },
	} {
		changed := base
		change(&changed)
		if string(AppendRow(nil, &changed)) == row {
			t.Errorf("the %s does not count", what)
		}
	}
	for what, change := range map[string]func(*Entry){
		"inode": func(e *Entry) { e.Inode = ID{1, 2} }, "number of names": func(e *Entry) { e.Names = 9 },
		"time of change": func(e *Entry) { e.Changed = Time{3, 3} }, "number of blocks": func(e *Entry) { e.Allocated = 4096 },
	} {
		changed := base
		change(&changed)
		if string(AppendRow(nil, &changed)) != row {
			t.Errorf("the %s counts", what)
		}
	}
}
