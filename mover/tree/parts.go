package tree

import (
	"sync"
	"sync/atomic"

	"github.com/sliceshift/sliceshift/mover/differ"
	"github.com/sliceshift/sliceshift/mover/entry"
)

// MaxParts is how many bytes of digests of leaves are kept in memory at once: those of 1 TiB of content. A file for
// which there is no room is read whole the next time.
const MaxParts = 32 << 20

// partsRoom is the room for the digests of the files that pass through a list, and the lock of its tally.
type partsRoom struct {
	used atomic.Int64
	lock sync.Mutex
}

// enter takes room for the digests of a file, and reports whether there is any.
func (p *partsRoom) enter(r *reading) bool {
	need := Leaves(r.entry.Size) * DigestSize
	if p.used.Add(need) > MaxParts {
		p.used.Add(-need)
		return false
	}
	r.size = need
	return true
}

func (p *partsRoom) leave(r *reading) {
	p.used.Add(-r.size)
	r.leaves = nil
}

// trusts reports whether a file need not be read. With Parts, its leaves must be known too, if it has several.
func (l *lister) trusts(e *entry.Entry, handle string, record *differ.Record) bool {
	if !l.options.Parts {
		return differ.Trusted(e, handle, *record)
	}
	return differ.Same(e, handle, *record) && (Leaves(e.Size) <= 1 || len(record.Parts) > 0)
}

// keepsParts reports whether the record of a file has its leaves, or needs none.
func (l *lister) keepsParts(r *reading) bool {
	return Leaves(r.entry.Size) <= 1 || int64(len(r.leaves)) == Leaves(r.entry.Size)*DigestSize
}

// partsOf returns the known leaves of a file that must be read, and takes their digests.
func (l *lister) partsOf(r *reading) Parts {
	var parts Parts
	e := r.entry
	if l.options.Written != nil {
		if known := l.options.Written(e.Path); known != nil {
			parts = *known
		}
	}
	if Leaves(e.Size) <= 1 {
		return parts // the digest of the content says as much
	}
	keeps := l.keeps(r)
	if keeps {
		r.leaves = make([]byte, 0, r.size)
	}
	if keeps || l.options.Tally != nil {
		parts.Each = func(leaf int64, digest []byte) {
			if keeps {
				r.leaves = append(r.leaves, digest...)
			}
			l.tallyLeaf(e.Path, leaf, digest)
		}
	}
	return parts
}

// keeps takes room for the digests of a file's leaves, and reports whether its record gets them.
func (l *lister) keeps(r *reading) bool {
	return l.options.Parts && l.options.Record != nil && l.parts.enter(r)
}

func (l *lister) tallyLeaf(path string, leaf int64, digest []byte) {
	if l.options.Tally == nil {
		return
	}
	l.parts.lock.Lock()
	defer l.parts.lock.Unlock()
	l.options.Tally.Add(path, leaf, digest)
}

func (l *lister) tallyContent(path string, digest [32]byte) { l.tallyLeaf(path, 0, digest[:]) }

// tally adds the content of a file that is not read.
func (l *lister) tally(e *entry.Entry, leaves []byte) {
	if Leaves(e.Size) <= 1 {
		l.tallyContent(e.Path, e.Digest)
		return
	}
	for leaf := int64(0); len(leaves) > 0; leaf, leaves = leaf+1, leaves[DigestSize:] {
		l.tallyLeaf(e.Path, leaf, leaves[:DigestSize])
	}
}

// tallyEntry adds an entry without its content.
func (l *lister) tallyEntry(e *entry.Entry) {
	if l.options.Tally == nil {
		return
	}
	l.parts.lock.Lock()
	defer l.parts.lock.Unlock()
	l.row = l.options.Tally.AddEntry(e, l.row)
}
