package wire

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sliceshift/sliceshift/mover/codec"
	"github.com/sliceshift/sliceshift/mover/entry"
)

var (
	someEntry = entry.Entry{
		Path: "a/b", Kind: entry.File, Size: 5, Mode: 0o4755, UID: 1, GID: 2, Modified: entry.Time{Sec: -1, Nsec: 999_999_999},
		Xattrs: []entry.Xattr{{Name: "user.a", Value: []byte{0, 1}}, {Name: "user.b", Value: []byte{}}}, Names: 2, Allocated: 4096,
		Inode: entry.ID{Dev: 1, Ino: 1 << 60}, Changed: entry.Time{Sec: 1 << 40}, Digest: [32]byte{1, 2, 3},
	}
	someFile = Wanted{Path: "a/\xff", Size: 100_000, Modified: entry.Time{Sec: 1 << 33, Nsec: 1}}
)

// messages has one message of each type, with a function that reads it and writes it again.
var messages = []struct {
	name  string
	bytes []byte
	again func([]byte) ([]byte, error)
}{
	{"hello", Hello{Version: Version, Role: Receiver, Session: [16]byte{9}, Connections: 6, Reading: []byte{7, 8}}.Append(nil), again(ReadHello, func(m Hello) []byte { return m.Append(nil) })},
	{"list", List{Stream: 3, After: 1 << 40, Digest: true, Known: true, Synced: true}.Append(nil), again(ReadList, func(m List) []byte { return m.Append(nil) })},
	{"entries", entry.Append(entry.Append(AppendEntries(nil, 7), &entry.Entry{Kind: entry.Directory}), &someEntry), func(b []byte) ([]byte, error) {
		first, entries, err := ReadEntries(b)
		if err != nil {
			return nil, err
		}
		b = AppendEntries(nil, first)
		for i := range entries {
			b = entry.Append(b, &entries[i])
		}
		return b, nil
	}},
	{"ack", AppendAck(nil, Whole), again(ReadAck, func(n uint64) []byte { return AppendAck(nil, n) })},
	{"list end", ListEnd{Totals: entry.Totals{Entries: 1, Read: 6}, Root: [32]byte{4}, Problem: "x"}.Append(nil), again(ReadListEnd, func(m ListEnd) []byte { return m.Append(nil) })},
	{"files", AppendFiles(nil, []Wanted{someFile, {Path: "b"}}), again(ReadFiles, func(m []Wanted) []byte { return AppendFiles(nil, m) })},
	{"file", Content{Index: 1, Status: Changed, Data: []byte("x")}.Append(Content{Index: 2, Status: Failed, Problem: "p"}.Append(nil)), again(ReadContents, func(list []Content) (b []byte) {
		for _, m := range list {
			b = m.Append(b)
		}
		return b
	})},
	{"range", Range{Wanted: someFile, Offset: 10, Length: Block + 1, Sums: make([]byte, 2*SumSize)}.Append(nil), again(ReadRange, func(m Range) []byte { return m.Append(nil) })},
	{"end", End{Status: Failed, Problem: "p"}.Append(nil), again(ReadEnd, func(m End) []byte { return m.Append(nil) })},
	{"map", Map{Wanted: someFile, Offset: 9}.Append(nil), again(ReadMap, func(m Map) []byte { return m.Append(nil) })},
	{"extents", Extents{List: []Extent{{0, 10}, {20, 30}}, More: true}.Append(nil), again(func(b []byte) (Extents, error) { return ReadExtents(b, 1<<20) }, func(m Extents) []byte { return m.Append(nil) })},
	{"parts", Parts{Wanted: Wanted{Path: "a", Size: 3*Part - 1}, Offset: Part, Sums: make([]byte, 2*DigestSize)}.Append(nil), again(ReadParts, func(m Parts) []byte { return m.Append(nil) })},
	{"differ", Differ{Status: Changed, Parts: []byte{1, 2}}.Append(nil), again(func(b []byte) (Differ, error) { return ReadDiffer(b, 9) }, func(m Differ) []byte { return m.Append(nil) })},
	{"done", Done{OK: true, Text: "t"}.Append(nil), again(ReadDone, func(m Done) []byte { return m.Append(nil) })},
}

func again[M any](read func([]byte) (M, error), write func(M) []byte) func([]byte) ([]byte, error) {
	return func(b []byte) ([]byte, error) {
		m, err := read(b)
		if err != nil {
			return nil, err
		}
		return write(m), nil
	}
}

// TestMessages: a written message is read unchanged, and a truncated or overlong one is refused.
func TestMessages(t *testing.T) {
	for _, m := range messages {
		t.Run(m.name, func(t *testing.T) {
			got, err := m.again(m.bytes)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(m.bytes, got); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
			for n := range m.bytes {
				if got, err := m.again(m.bytes[:n]); err == nil && bytes.Equal(got, m.bytes) {
					t.Errorf("%d of %d bytes are as good as all", n, len(m.bytes))
				}
			}
			if _, err := m.again(append(bytes.Clone(m.bytes), 0x80)); !errors.Is(err, codec.ErrMalformed) {
				t.Errorf("one byte too many: got %v", err)
			}
		})
	}
}

// TestHostilePaths: a path that leaves the root, or could, is refused.
func TestHostilePaths(t *testing.T) {
	for _, path := range []string{"..", "../x", "a/../b", "a/..", "/", "/etc/passwd", "a//b", "a/", ".", "./a", "a\x00b", string(make([]byte, entry.MaxPath+1)), "a/" + string(bytes.Repeat([]byte("n"), 256))} {
		if _, err := ReadMap(Map{Wanted: Wanted{Path: path}}.Append(nil)); !errors.Is(err, codec.ErrMalformed) {
			t.Errorf("%.40q was asked for: %v", path, err)
		}
		if _, _, err := ReadEntries(entry.Append(AppendEntries(nil, 0), &entry.Entry{Path: path, Kind: entry.File})); !errors.Is(err, codec.ErrMalformed) {
			t.Errorf("%.40q was listed: %v", path, err)
		}
		if _, _, err := ReadEntries(entry.Append(AppendEntries(nil, 0), &entry.Entry{Path: "z", Kind: entry.Link, Target: path})); !errors.Is(err, codec.ErrMalformed) {
			t.Errorf("a hard link to %.40q was listed: %v", path, err)
		}
	}
}

// TestLimits: values beyond a limit are refused.
func TestLimits(t *testing.T) {
	many := make([]Wanted, MaxBatch+1)
	large := []Wanted{{Path: "a", Size: SmallFile + 1}}
	var heavy []Wanted
	for range MaxBatchBytes/SmallFile + 1 {
		heavy = append(heavy, Wanted{Path: "a", Size: SmallFile})
	}
	for name, list := range map[string][]Wanted{"too many": many, "too large": large, "too heavy": heavy} {
		if _, err := ReadFiles(AppendFiles(nil, list)); !errors.Is(err, codec.ErrMalformed) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	for name, m := range map[string]Range{
		"beyond the end": {Wanted: someFile, Offset: someFile.Size, Length: 1},
		"too long":       {Wanted: Wanted{Path: "a", Size: 1 << 40}, Length: MaxRange + 1},
		"few digests":    {Wanted: someFile, Length: Block + 1, Sums: make([]byte, SumSize)},
	} {
		if _, err := ReadRange(m.Append(nil)); !errors.Is(err, codec.ErrMalformed) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	for name, m := range map[string]Parts{
		"no part":          {Wanted: Wanted{Path: "a", Size: Part}},
		"between parts":    {Wanted: Wanted{Path: "a", Size: Part}, Offset: 1, Sums: make([]byte, DigestSize)},
		"beyond the end":   {Wanted: Wanted{Path: "a", Size: Part}, Offset: Part, Sums: make([]byte, DigestSize)},
		"more than it has": {Wanted: Wanted{Path: "a", Size: Part}, Sums: make([]byte, 2*DigestSize)},
		"too many":         {Wanted: Wanted{Path: "a", Size: 1 << 40}, Sums: make([]byte, (MaxParts+1)*DigestSize)},
	} {
		if _, err := ReadParts(m.Append(nil)); !errors.Is(err, codec.ErrMalformed) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if _, err := ReadDiffer(Differ{Parts: []byte{1}}.Append(nil), 9); !errors.Is(err, codec.ErrMalformed) {
		t.Errorf("one byte about nine parts: got %v", err)
	}
	for name, m := range map[string]Extents{
		"over each other": {List: []Extent{{0, 10}, {9, 5}}},
		"empty":           {List: []Extent{{0, 0}}},
		"beyond the end":  {List: []Extent{{90, 11}}},
		"none and more":   {More: true},
	} {
		if _, err := ReadExtents(m.Append(nil), 100); !errors.Is(err, codec.ErrMalformed) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if err := WriteFrame(io.Discard, Frame{Type: TypeData, Payload: make([]byte, MaxPayload+1)}); err == nil {
		t.Error("a frame that is too large was written")
	}
}

// FuzzFrame: no bytes crash a reader of frames, or make it allocate more than a frame may have.
func FuzzFrame(f *testing.F) {
	for _, m := range messages {
		var b bytes.Buffer
		if err := WriteFrame(&b, Frame{Type: TypeList, Payload: m.bytes}); err != nil {
			f.Fatal(err)
		}
		f.Add(b.Bytes())
	}
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 1, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		r := bytes.NewReader(b)
		var buffer []byte
		for {
			frame, grown, err := ReadFrame(r, buffer)
			if cap(grown) > MaxPayload {
				t.Fatalf("%d bytes were taken", cap(grown))
			}
			if err != nil {
				return
			}
			var again bytes.Buffer
			if err := WriteFrame(&again, frame); err != nil {
				t.Fatal(err)
			}
			buffer = grown
		}
	})
}

// FuzzMessages: every message that can be read is written again such that it reads the same.
func FuzzMessages(f *testing.F) {
	for i, m := range messages {
		f.Add(uint8(i), m.bytes)
	}
	f.Fuzz(func(t *testing.T, which uint8, b []byte) {
		m := messages[int(which)%len(messages)]
		once, err := m.again(b)
		if err != nil {
			return
		}
		twice, err := m.again(once)
		if err != nil || !bytes.Equal(once, twice) {
			t.Fatalf("%s: %x, then %x (%v)", m.name, once, twice, err)
		}
	})
}
