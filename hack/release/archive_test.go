package main

import (
	"bytes"
	"testing"
	"time"
)

// TestArchiveEnds: an archive ends with two blocks of zeros (POSIX, pax). Without them tar reports a truncated archive;
// Go's reader does not check them.
func TestArchiveEnds(t *testing.T) {
	const block = 512
	packed, err := tarred([]entry{{"LICENSE", text644, []byte("free")}}, time.Unix(1700000000, 0))
	if err != nil {
		t.Fatal(err)
	}
	if len(packed)%block != 0 || !bytes.HasSuffix(packed, make([]byte, 2*block)) {
		t.Errorf("its %d bytes end otherwise", len(packed))
	}
}
