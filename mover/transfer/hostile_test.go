package transfer

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sliceshift/sliceshift/internal/treetest"
	"github.com/sliceshift/sliceshift/mover/codec"
	"github.com/sliceshift/sliceshift/mover/differ"
	"github.com/sliceshift/sliceshift/mover/entry"
	"github.com/sliceshift/sliceshift/mover/wire"
)

func byContent(o *ReceiverOptions) { o.Compare = differ.Content }

// liar is a sender with arbitrary answers.
type liar struct {
	entries []entry.Entry
	end     wire.ListEnd
	file    []byte // the payload of TypeFile
	data    []byte // the payload of TypeData
}

func (l liar) serve(ctx context.Context, t testing.TB, raw net.Conn) {
	stop := context.AfterFunc(ctx, func() { _ = raw.Close() })
	defer stop()
	c, err := newConn(raw, nil, nil)
	if err != nil {
		t.Error(err)
		return
	}
	defer c.close()
	_ = c.reply(ctx, wire.TypeHello, wire.Hello{Version: wire.Version, Role: wire.Sender}.Append(nil))
	for {
		f, err := c.receive(0)
		if err != nil {
			return
		}
		switch f.Type {
		case wire.TypeList:
			payload := wire.AppendEntries(nil, 0)
			for i := range l.entries {
				payload = entry.Append(payload, &l.entries[i])
			}
			_ = c.send(ctx, wire.TypeEntries, payload)
			end := l.end
			if end.Entries == 0 {
				end.Entries = uint64(len(l.entries))
			}
			_ = c.reply(ctx, wire.TypeListEnd, end.Append(nil))
		case wire.TypeFiles:
			_ = c.send(ctx, wire.TypeFile, l.file)
			_ = c.reply(ctx, wire.TypeEnd, wire.End{}.Append(nil))
		case wire.TypeRange:
			_ = c.send(ctx, wire.TypeData, l.data)
			_ = c.reply(ctx, wire.TypeEnd, wire.End{}.Append(nil))
		default:
		}
	}
}

// TestHostileSender: a sender that lies makes the receiver fail, and causes no write outside its root.
func TestHostileSender(t *testing.T) {
	t.Parallel()
	root := entry.Entry{Kind: entry.Directory, Mode: 0o755}
	outside := filepath.Join(t.TempDir(), "outside")
	file := func(path string) entry.Entry { return entry.Entry{Path: path, Kind: entry.File, Size: 3, Names: 1} }
	large := entry.Entry{Path: "large", Kind: entry.File, Size: 1 << 20, Allocated: 1 << 20, Names: 1}
	out := entry.Entry{Path: "out", Kind: entry.Symlink, Target: outside}
	abc := wire.Content{Data: []byte("abc")}.Append(nil)
	for name, l := range map[string]liar{
		"a path that goes up":             {entries: []entry.Entry{root, file("../x")}},
		"an absolute path":                {entries: []entry.Entry{root, file(outside)}},
		"no root":                         {entries: []entry.Entry{file("x")}},
		"a root that is a file":           {entries: []entry.Entry{{Kind: entry.File}}},
		"M-039: nothing at all":           {},
		"paths out of order":              {entries: []entry.Entry{root, file("b"), file("a")}},
		"a path twice":                    {entries: []entry.Entry{root, file("a"), file("a")}},
		"a file below a link":             {entries: []entry.Entry{root, out, file("out/x")}, file: abc},
		"a folder below a link":           {entries: []entry.Entry{root, out, {Path: "out/d", Kind: entry.Directory}}},
		"K12: a file far below a link":    {entries: []entry.Entry{root, out, file("out/deep/x")}, file: abc},
		"K12: a folder far below a link":  {entries: []entry.Entry{root, out, {Path: "out/deep/d", Kind: entry.Directory}}},
		"K12: below a link in a folder":   {entries: []entry.Entry{root, {Path: "d", Kind: entry.Directory}, {Path: "d/out", Kind: entry.Symlink, Target: outside}, file("d/out/deep/x")}, file: abc},
		"K12: a link to far below a link": {entries: []entry.Entry{root, out, {Path: "z", Kind: entry.Link, Target: "out/deep/secret"}}},
		"a link to what is below a link":  {entries: []entry.Entry{root, out, {Path: "z", Kind: entry.Link, Target: "out/secret"}}},
		"K12: an attribute of the kernel": {entries: []entry.Entry{root, {Path: "x", Kind: entry.File, Names: 1, Xattrs: []entry.Xattr{{Name: "trusted.overlay.opaque", Value: []byte("y")}}}}},
		"K12: a label of the machine":     {entries: []entry.Entry{root, {Path: "x", Kind: entry.Directory, Xattrs: []entry.Xattr{{Name: "security.selinux", Value: []byte("a")}}}}},
		"K12: a disk of the machine":      {entries: []entry.Entry{root, {Path: "x", Kind: entry.BlockDevice, Device: 0x800, Names: 1}}},
		"K12: the machine's memory":       {entries: []entry.Entry{root, {Path: "x", Kind: entry.CharDevice, Device: 0x101, Names: 1}}},
		"a link to nothing":               {entries: []entry.Entry{root, {Path: "z", Kind: entry.Link, Target: "a"}}},
		"a file in no folder":             {entries: []entry.Entry{root, file("d/x")}, file: abc},
		"a device among files":            {entries: []entry.Entry{root, {Path: "x", Kind: entry.Device, Size: 5}}},
		"more entries than were listed":   {entries: []entry.Entry{root}, end: wire.ListEnd{Totals: entry.Totals{Entries: 9}}},
		"a file that was not asked for":   {entries: []entry.Entry{root, file("x")}, file: wire.Content{Index: 5}.Append(nil)},
		"a file twice":                    {entries: []entry.Entry{root, file("x")}, file: append(append([]byte{}, abc...), abc...)},
		"no file":                         {entries: []entry.Entry{root, file("x")}},
		"data behind the end":             {entries: []entry.Entry{root, large}, data: append(wire.AppendData(nil, 1<<20), 'x')},
		"data far away":                   {entries: []entry.Entry{root, large}, data: append(wire.AppendData(nil, 1<<40), 'x')},
		"a frame that is no message":      {entries: []entry.Entry{root, file("x")}, file: []byte{0xff}},
	} {
		t.Run(name, func(t *testing.T) {
			destination := t.TempDir()
			to := treetest.In(t, outside)
			to.File("secret", []byte("s"))
			to.Must(os.MkdirAll(filepath.Join(outside, "deep"), 0o755))
			to.File("deep/secret", []byte("s"))
			pipes := newPipes()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			go func() {
				for {
					c, err := accepts{pipes}.Connect(ctx)
					if err != nil {
						return
					}
					go l.serve(ctx, t, c)
				}
			}()
			receiver, err := NewReceiver(ReceiverOptions{Tree: openTree(t, destination), Settled: true, Verify: VerifyNone, Workers: 2, Patience: 10 * time.Second, Log: quiet(t), Now: time.Now})
			to.Must(err)
			if _, err := receiver.Run(ctx, pipes); err == nil {
				t.Error("it succeeded")
			} else if strings.Contains(err.Error(), "further") {
				t.Errorf("it tried again and again: %v", err)
			}
			list, err := os.ReadDir(outside)
			deep, second := os.ReadDir(filepath.Join(outside, "deep"))
			if err != nil || second != nil || len(list) != 2 || len(deep) != 1 {
				t.Errorf("outside: %v, %v, %v", list, deep, errors.Join(err, second))
			}
		})
	}
}

// TestHostileReceiver: a receiver that requests paths outside the tree gets none of them.
func TestHostileReceiver(t *testing.T) {
	t.Parallel()
	source, outside := t.TempDir(), t.TempDir()
	treetest.In(t, outside).File("secret", []byte("secret"))
	treetest.In(t, source).Must(os.Symlink(outside, source+"/out"))
	treetest.In(t, source).Must(os.Symlink(outside+"/secret", source+"/file"))
	opened := openTree(t, source)
	ask := func(kind wire.Type, payload []byte) (wire.Frame, error) {
		t.Helper()
		pipes := newPipes()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		sender := NewSender(SenderOptions{Source: opened, Sync: opened.Sync, Patience: time.Minute, Log: quiet(t), Now: time.Now})
		go func() { _ = sender.Run(ctx, accepts{pipes}) }()
		raw, err := pipes.Connect(ctx)
		if err != nil {
			t.Fatal(err)
		}
		c, err := newConn(raw, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer c.close()
		own := wire.Hello{Version: wire.Version, Role: wire.Receiver}
		err = errors.Join(c.reply(ctx, wire.TypeHello, own.Append(nil)), second(receiveHello(c, own, time.Minute)), c.reply(ctx, kind, payload))
		if err != nil {
			t.Fatal(err)
		}
		f, err := c.receive(time.Minute)
		f.Payload = append([]byte{}, f.Payload...)
		return f, err
	}
	for _, path := range []string{"out/secret", "file", "../" + filepath.Base(outside) + "/secret", outside + "/secret"} {
		wanted := wire.Wanted{Path: path, Size: 6}
		for kind, payload := range map[wire.Type][]byte{
			wire.TypeFiles: wire.AppendFiles(nil, []wire.Wanted{wanted}),
			wire.TypeRange: wire.Range{Wanted: wanted, Length: 6}.Append(nil),
			wire.TypeMap:   wire.Map{Wanted: wanted}.Append(nil),
		} {
			f, err := ask(kind, payload)
			if strings.Contains(string(f.Payload), "secret") && f.Type != wire.TypeEnd && !strings.Contains(string(f.Payload), "open ") {
				t.Errorf("%q: a frame of type %d with %q (%v)", path, f.Type, f.Payload, err)
			}
			if f.Type == wire.TypeExtents {
				t.Errorf("%q: its extents were told", path)
			}
		}
	}
	for kind := range wire.TypeError + 1 {
		switch kind {
		case 0, wire.TypeAlive, wire.TypeList, wire.TypeFiles, wire.TypeRange, wire.TypeMap, wire.TypeDone:
			continue
		default:
		}
		if f, err := ask(kind, []byte{1, 2, 3}); err == nil {
			t.Errorf("a request of type %d was answered with %d", kind, f.Type)
		}
	}
}

func second[A any](_ A, err error) error { return err }

// TestMisfits: two movers that do not fit report it, and do not retry.
func TestMisfits(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		peer wire.Hello
		want string
	}{
		"another version": {wire.Hello{Version: 99}, "run the same image on both sides"},
		"the same role":   {wire.Hello{Version: wire.Version, Role: wire.Receiver}, "one must send and the other receive"},
		"a device":        {wire.Hello{Version: wire.Version, Role: wire.Sender, Device: true}, "give both --device, or both --root"},
	} {
		t.Run(name, func(t *testing.T) {
			pipes := newPipes()
			go func() {
				raw, err := accepts{pipes}.Connect(t.Context())
				if err != nil {
					return
				}
				c, err := newConn(raw, nil, nil)
				if err == nil {
					_ = c.reply(t.Context(), wire.TypeHello, tc.peer.Append(nil))
				}
			}()
			receiver, err := NewReceiver(ReceiverOptions{Tree: openTree(t, t.TempDir()), Workers: 1, Patience: time.Minute, Log: quiet(t), Now: time.Now})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := receiver.Run(t.Context(), pipes); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v", err)
			}
		})
	}
}

// TestPackedBomb: a packed frame that expands beyond the limit is refused.
func TestPackedBomb(t *testing.T) {
	t.Parallel()
	c, err := newConn(nil, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	bomb := c.packer.EncodeAll(make([]byte, 64<<20), []byte{10})
	if _, err := c.unpack(bomb); !errors.Is(err, codec.ErrMalformed) {
		t.Errorf("got %v", err)
	}
	if cap(c.plain) > wire.MaxPayload {
		t.Errorf("%d bytes were taken", cap(c.plain))
	}
}

// TestPacking: content is packed if it then arrives earlier.
func TestPacking(t *testing.T) {
	t.Parallel()
	const mib = 1 << 20
	for name, tc := range map[string]struct {
		ratio      float64
		pack, send float64 // MiB a second
		want       bool
	}{
		"a slow link":               {0.5, 400, 10, true},
		"a slow link, random bytes": {1, 400, 10, false},
		"a fast link":               {0.5, 400, 2000, false},
		"a fast link, mostly zeros": {0.05, 3000, 2000, true},
		"just not worth it":         {0.5, 400, 200, false},
	} {
		p := packing{packRate: tc.pack * mib, sendRate: tc.send * mib, ratio: tc.ratio}
		if got := p.pays(); got != tc.want {
			t.Errorf("%s: got %v", name, got)
		}
	}
	var p packing
	p.packed(100, 100, time.Second)
	wanted := 0
	for range 10 * trial {
		if p.wanted() {
			wanted++
		}
	}
	if wanted != 10 {
		t.Errorf("what does not pay was tried %d times of %d", wanted, 10*trial)
	}
}
