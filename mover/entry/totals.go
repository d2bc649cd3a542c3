package entry

// Totals are the counters of a stream.
type Totals struct {
	Entries, Files, Bytes uint64
	// Holes is how many bytes of files are holes.
	Holes uint64
	// Unsettled is how many entries vanished or changed while they were read.
	Unsettled uint64
	// Read is how many bytes were read for the digests. Trusted is how many were not, because an earlier
	// reading counts.
	Read, Trusted uint64
	// Known is how many bytes a later reading need not read, as far as is known now. Young is how many it must
	// read because they had changed too recently.
	Known, Young uint64
}

// Count adds an entry.
func (t *Totals) Count(e *Entry) {
	t.Entries++
	if e.Kind.HasContent() {
		t.Files++
		t.Bytes += uint64(e.Size)
		t.Holes += uint64(max(e.Size-e.Allocated, 0))
	}
}
