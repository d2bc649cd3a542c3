package transfer

import (
	"sync"
	"sync/atomic"

	"github.com/sliceshift/sliceshift/mover/differ"
	"github.com/sliceshift/sliceshift/mover/entry"
	"github.com/sliceshift/sliceshift/mover/tree"
	"github.com/sliceshift/sliceshift/mover/wire"
)

// A part is a leaf of a digest.
var _ = [1]struct{}{}[tree.Leaf-wire.Part]

// parts are the digests of the parts of a file of the receiver, as they were read back from its disk.
type parts struct {
	digests []byte
	// changed are those whose digest does not hold any more, or never did.
	changed []atomic.Bool
}

func newParts(size int64) *parts {
	count := tree.Leaves(size)
	return &parts{digests: make([]byte, count*tree.DigestSize), changed: make([]atomic.Bool, count)}
}

// change records that a part of the file is written.
func (p *parts) change(offset, length int64) {
	for at := offset / tree.Leaf; at*tree.Leaf < offset+length && at < int64(len(p.changed)); at++ {
		p.changed[at].Store(true)
	}
}

// known returns what need not be read back.
func (p *parts) known() *tree.Parts {
	return &tree.Parts{Known: p.digests, Changed: func(leaf int64) bool { return p.changed[leaf].Load() }}
}

// marking is a file whose written parts are recorded.
type marking struct {
	writable
	parts *parts
}

// WriteAt records the part before it is written.
func (m marking) WriteAt(p []byte, offset int64) (int, error) {
	m.parts.change(offset, int64(len(p)))
	return m.writable.WriteAt(p, offset)
}

// Punch records the part too.
func (m marking) Punch(offset, length int64) error {
	m.parts.change(offset, length)
	return m.writable.Punch(offset, length)
}

// ledger holds the parts of the files that a pass changes in place, up to a size. Other files that a pass writes are
// read back whole.
type ledger struct {
	lock  sync.Mutex
	files map[string]*parts
	used  int64
}

// take returns the parts of a file; nil if there is no room for them.
func (l *ledger) take(path string, size int64) *parts {
	l.lock.Lock()
	defer l.lock.Unlock()
	need := tree.Leaves(size) * tree.DigestSize
	if l.used+need > tree.MaxParts {
		return nil
	}
	l.used += need
	if l.files == nil {
		l.files = map[string]*parts{}
	}
	l.files[path] = newParts(size)
	return l.files[path]
}

// written returns what need not be read back of a file; nil if nothing is known.
func (l *ledger) written(path string) *tree.Parts {
	l.lock.Lock()
	defer l.lock.Unlock()
	if p := l.files[path]; p != nil {
		return p.known()
	}
	return nil
}

// partsOf returns the parts of the receiver's own file that is about to be changed in place; nil if they are not known.
func (m *merge) partsOf(source *entry.Entry) (*parts, error) {
	r, own := m.receiver, m.there
	if r.known == nil || own == nil || own.Path != source.Path || tree.Leaves(own.Size) <= 1 || tree.Leaves(source.Size) <= 1 {
		return nil, nil
	}
	record, err := r.known.Find(own.Path)
	if err != nil || record == nil || len(record.Parts) == 0 || !differ.Same(own, m.cursor.Handle(own.Path), *record) {
		return nil, err
	}
	p := r.ledger.take(source.Path, source.Size)
	if p == nil {
		return nil, nil
	}
	copy(p.digests, record.Parts)
	if source.Size != own.Size { // the last part of the shorter one is another now, and so is all after it
		p.change(min(source.Size, own.Size)/tree.Leaf*tree.Leaf, source.Size)
	}
	return p, nil
}

// keeps reports whether the digests of parts are kept and used.
func (r *Receiver) keeps() bool { return r.options.Verify == VerifyLater }

// deviceParts returns the parts of a device, which are not known yet.
func (r *Receiver) deviceParts(size int64) *parts {
	if !r.keeps() {
		return nil
	}
	return r.ledger.take("", size)
}
