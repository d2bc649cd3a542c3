// Package report is what a mover says of its work: a result that fits into a container's termination
// message, and lines of progress in its log.
package report

import (
	"encoding/hex"
	"encoding/json"
	"strconv"

	"github.com/sliceshift/sliceshift/mover/entry"
)

// Most is how many bytes of a termination message the kubelet keeps.
const Most = 4096

// Version is that of Result: whoever reads another one does not know what it means.
const Version = 1

// What came out.
const (
	Equal     = "Equal"     // both sides were read, and are equal
	Copied    = "Copied"    // all was copied, and nothing compared
	Sealed    = "Sealed"    // this side was read
	Served    = "Served"    // the receiver said that it is done
	Different = "Different" // both sides were read, and are not equal
	Failed    = "Failed"    // another try may help
	Discard   = "Discard"   // the destination's disk has failed: no try helps
	NotEmpty  = "NotEmpty"  // the destination has something already, Path, that this copy has not brought: nothing was written
)

// Result is what a mover has found and done.
type Result struct {
	// Version is that of this structure.
	Version int `json:"version"`
	// Side is Sender, Receiver or Seal; Pass is Warm or Last.
	Side   string `json:"side"`
	Pass   string `json:"pass,omitempty"`
	Result string `json:"result"`
	// Root is of this side, PeerRoot of the other: "blake3:" and 64 hex digits.
	Root     string `json:"root,omitempty"`
	PeerRoot string `json:"peerRoot,omitempty"`
	// Entries, Files, Bytes and Holes (in bytes) are of the source, or of the side that was sealed.
	Entries int64 `json:"entries"`
	Files   int64 `json:"files"`
	Bytes   int64 `json:"bytes"`
	Holes   int64 `json:"holes,omitempty"`
	// Fetched is how many files were asked for, Received and Sent how many bytes travelled, Written how many
	// were written, Removed how many entries.
	Fetched  int64 `json:"fetched,omitempty"`
	Received int64 `json:"received,omitempty"`
	Sent     int64 `json:"sent,omitempty"`
	Written  int64 `json:"written,omitempty"`
	Removed  int64 `json:"removed,omitempty"`
	// Vanished and Changed are how many files are left to the next pass.
	Vanished int64 `json:"vanished,omitempty"`
	Changed  int64 `json:"changed,omitempty"`
	// Verify is how both sides were compared: Full, every byte was read; or Changed.
	Verify string `json:"verify,omitempty"`
	// Read is how many bytes of this side were read to be compared, and Trusted how many were not, since nothing has
	// changed since a warm pass has read them.
	Read    int64 `json:"read,omitempty"`
	Trusted int64 `json:"trusted,omitempty"`
	// Known is how many bytes the next pass need not read on either side, by what this one has kept, and Young how many it must
	// on the side that has more of them, since they had changed less than 60 s before.
	Known int64 `json:"known,omitempty"`
	Young int64 `json:"young,omitempty"`
	// Differences is how many entries differ, Path the first one of them, and What in what it does.
	Differences int64  `json:"differences,omitempty"`
	Path        string `json:"path,omitempty"`
	What        string `json:"what,omitempty"`
	// Seconds is how long it took, Verifying how much of it the comparison.
	Seconds   float64 `json:"seconds"`
	Verifying float64 `json:"verifying,omitempty"`
	// ReadRate is how many bytes a second this side reads for a proof, as a sample after a warm pass has shown; 0: not
	// measured, or too little to tell.
	ReadRate int64 `json:"readRate,omitempty"`
	// FileSystem is the type of this side's.
	FileSystem string `json:"fileSystem,omitempty"`
	// Fingerprint is of this mover's key.
	Fingerprint string `json:"fingerprint,omitempty"`
	// Message is why it failed, and what to do.
	Message string `json:"message,omitempty"`
}

// Count takes over what a list came to.
func (r *Result) Count(t entry.Totals) {
	r.Entries, r.Files, r.Bytes, r.Holes = int64(t.Entries), int64(t.Files), int64(t.Bytes), int64(t.Holes)
	r.Read, r.Trusted = int64(t.Read), int64(t.Trusted)
}

// Root is how a root is written.
func Root(digest [32]byte) string { return "blake3:" + hex.EncodeToString(digest[:]) }

// Escape makes a path printable: what is no printable ASCII becomes \x.., and a backslash is doubled.
func Escape(path string) string {
	quoted := strconv.QuoteToASCII(path)
	return quoted[1 : len(quoted)-1]
}

// JSON is the result, no longer than most bytes: texts are cut until it fits.
func (r Result) JSON(most int) []byte {
	for limit := most; ; limit /= 2 {
		cut := r
		cut.Path, cut.What, cut.Message = shorten(r.Path, limit), shorten(r.What, limit), shorten(r.Message, limit)
		text, err := json.Marshal(cut)
		if err != nil {
			return []byte(`{"result":"` + Failed + `"}`) // numbers that JSON has not
		}
		if len(text) <= most || limit == 0 {
			return text
		}
	}
}

// shorten cuts a text in its middle: how it begins and how it ends says most.
func shorten(text string, limit int) string {
	const gap = " ... "
	if len(text) <= limit {
		return text
	}
	if limit <= len(gap) {
		return ""
	}
	keep := limit - len(gap)
	return text[:keep-keep/2] + gap + text[len(text)-keep/2:]
}
