package transfer

import (
	"context"
	"fmt"
	"sync"

	"github.com/sliceshift/sliceshift/mover/entry"
	"github.com/sliceshift/sliceshift/mover/wire"
)

// stream is a list that the sender is sending. It outlives its connection: entries that were sent and not yet
// acknowledged are kept, to be sent again on the next one.
type stream struct {
	id     uint64
	cancel context.CancelFunc

	mu      sync.Mutex
	changed chan struct{} // closed when any of these changes
	first   uint64        // the number of kept[0]
	kept    []*entry.Entry
	ended   bool
	end     wire.ListEnd
}

// window is how many entries are kept.
const window = 4096

func newStream(id uint64, cancel context.CancelFunc) *stream {
	return &stream{id: id, cancel: cancel, changed: make(chan struct{})}
}

// change wakes all waiters. The lock must be held.
func (s *stream) change() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// put adds an entry, once there is room.
func (s *stream) put(ctx context.Context, e *entry.Entry) error {
	for {
		s.mu.Lock()
		if len(s.kept) < window {
			s.kept = append(s.kept, e)
			s.change()
			s.mu.Unlock()
			return nil
		}
		changed := s.changed
		s.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// finish ends the stream.
func (s *stream) finish(end wire.ListEnd) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended, s.end = true, end
	s.change()
}

// ack drops entries below a number.
func (s *stream) ack(count uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if count <= s.first {
		return
	}
	n := min(count-s.first, uint64(len(s.kept)))
	clear(s.kept[:n])
	s.kept, s.first = s.kept[n:], s.first+n
	s.change()
}

// from returns the entries from a number on. If there are none and ended is true, the stream is complete.
// Otherwise there are none yet, until changed is closed.
func (s *stream) from(next uint64, room []*entry.Entry) (entries []*entry.Entry, ended bool, changed <-chan struct{}, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if next < s.first || next > s.first+uint64(len(s.kept)) {
		return nil, false, nil, fmt.Errorf("entry %d of the list is not kept any more, or not there yet: there are %d from %d on", next, len(s.kept), s.first)
	}
	room = append(room[:0], s.kept[next-s.first:]...)
	return room, s.ended && len(room) == 0, s.changed, nil
}
