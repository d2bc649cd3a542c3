package transfer

import (
	"errors"
	"syscall"
	"testing"

	"github.com/sliceshift/sliceshift/mover/entry"
	"github.com/sliceshift/sliceshift/mover/tree"
	"github.com/sliceshift/sliceshift/mover/wire"
)

// TestContentOf: a file is sent as it was read. A file that another size or time shows to be changed is marked, and a
// read error is one even after some data: otherwise the receiver would store a part as the whole.
func TestContentOf(t *testing.T) {
	t.Parallel()
	at := entry.Time{Sec: 7, Nsec: 1}
	wanted := wire.Wanted{Path: "f", Size: 4, Modified: at}
	for name, tc := range map[string]struct {
		read tree.Small
		want wire.Status
		data string
	}{
		"as listed":            {tree.Small{Data: []byte("four"), Now: entry.Entry{Size: 4, Modified: at}}, wire.OK, "four"},
		"it grew":              {tree.Small{Data: []byte("four"), Now: entry.Entry{Size: 5, Modified: at}}, wire.Changed, "four"},
		"it shrank":            {tree.Small{Data: []byte("fo"), Now: entry.Entry{Size: 2, Modified: at}}, wire.Changed, "fo"},
		"it was written":       {tree.Small{Data: []byte("less"), Now: entry.Entry{Size: 4, Modified: entry.Time{Sec: 8}}}, wire.Changed, "less"},
		"it vanished":          {tree.Small{Err: syscall.ENOENT}, wire.Vanished, ""},
		"it became a link":     {tree.Small{Err: syscall.ELOOP}, wire.Vanished, ""},
		"it became a pipe":     {tree.Small{Err: tree.ErrChanged}, wire.Vanished, ""},
		"the disk":             {tree.Small{Err: syscall.EIO}, wire.Failed, ""},
		"the disk, in the mid": {tree.Small{Data: []byte("fo"), Err: syscall.EIO}, wire.Failed, ""},
	} {
		got := contentOf(wanted, &tc.read)
		if got.Status != tc.want || string(got.Data) != tc.data || (got.Problem != "") != (tc.want == wire.Failed) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// TestFlush: many written bytes are synced, and an error of that sync is not lost.
func TestFlush(t *testing.T) {
	opened, err := tree.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	synced := 0
	r := &Receiver{options: ReceiverOptions{Tree: opened}, beside: func(sync func() error) {
		synced++
		if err := sync(); !errors.Is(err, syscall.EBADF) {
			t.Error(err)
		}
	}}
	if err := opened.Close(); err != nil { // so that a sync fails
		t.Fatal(err)
	}
	for range 1000 {
		r.flush(100 << 10)
	}
	if synced != 1 {
		t.Errorf("synced %d times in 100 MB", synced)
	}
	for range 20_000 {
		r.flush(0)
	}
	if synced != 2 {
		t.Errorf("many empty files made %d syncs", synced)
	}
}
