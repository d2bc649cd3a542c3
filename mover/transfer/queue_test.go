package transfer

import (
	"errors"
	"strconv"
	"syscall"
	"testing"

	"github.com/sliceshift/sliceshift/mover/tree"
	"github.com/sliceshift/sliceshift/mover/wire"
)

// shelf is a Reader that counts its open contents.
type shelf struct{ open, prefetched int }

type book struct {
	tree.Content
	from *shelf
}

func (s *shelf) Open(path string) (tree.Content, error) {
	if path == "missing" {
		return nil, syscall.ENOENT
	}
	s.open++
	return &book{from: s}, nil
}

func (*shelf) Close() {}

func (b *book) Prefetch(int64, int64) { b.from.prefetched++ }

func (b *book) Close() error {
	b.from.open--
	return nil
}

// TestQueue: files are opened in order, a few ahead, each prefetched. A file that was not taken is closed.
func TestQueue(t *testing.T) {
	from := &shelf{}
	q := queue{reader: from}
	for i := range 50 {
		q.files = append(q.files, wire.Wanted{Path: strconv.Itoa(i)})
	}
	q.files[3].Path = "missing"
	for i := range 10 {
		next := q.next()
		if (i == 3) != errors.Is(next.err, syscall.ENOENT) {
			t.Errorf("file %d: %v", i, next.err)
		}
		if next.err == nil {
			_ = next.content.Close()
		}
		if from.open < 10 || from.open > 16 {
			t.Errorf("%d are open", from.open)
		}
	}
	if from.prefetched < 20 || from.prefetched > 26 {
		t.Errorf("%d of 10 and those ahead were prefetched", from.prefetched)
	}
	if q.close(); from.open != 0 {
		t.Errorf("%d are left open", from.open)
	}
}

// TestFlush: many written bytes are synced, and an error of that sync is not lost.
func TestFlush(t *testing.T) {
	opened, err := tree.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	r := &Receiver{options: ReceiverOptions{Tree: opened}}
	if err := opened.Close(); err != nil { // so that a sync fails
		t.Fatal(err)
	}
	synced := 0
	for range 1000 {
		err := r.flush(100 << 10)
		if err == nil {
			continue
		}
		if synced++; !errors.Is(err, syscall.EBADF) {
			t.Error(err)
		}
	}
	if synced != 1 {
		t.Errorf("synced %d times in 100 MB", synced)
	}
	for range 20_000 {
		if r.flush(0) != nil {
			synced++
		}
	}
	if synced != 2 {
		t.Errorf("many empty files made %d syncs", synced)
	}
}
