// Package report defines what a mover reports: a result that fits into a container's termination message, and
// lines of progress in its log.
package report

import (
	"encoding/hex"
	"encoding/json"
	"strconv"

	"github.com/sliceshift/sliceshift/mover/entry"
)

// Most is how many bytes of a termination message the kubelet keeps.
const Most = 4096

// Version is that of Result. A reader that does not know a version cannot interpret the result.
const Version = 1

// The results.
const (
	Equal     = "Equal"     // both sides were read and are equal
	Copied    = "Copied"    // everything was copied, and nothing was compared
	ReadBack  = "ReadBack"  // everything was copied and this side was read back; the contents of the source are not compared yet
	Sealed    = "Sealed"    // this side was read
	Served    = "Served"    // the receiver reported that it is done
	Different = "Different" // both sides were read and are not equal
	Failed    = "Failed"    // another try may help
	Discard   = "Discard"   // the destination's disk has failed: no retry helps
	NotEmpty  = "NotEmpty"  // the destination holds data, at Path, that this copy has not written: nothing was written
)

// Full begins the message of a mover whose destination has no room left.
const Full = "the destination is full"

// Tried is the result of an attempt to reach addresses, whether or not they were reached.
const Tried = "Tried"

// Reach is the result of an attempt to reach addresses.
type Reach struct {
	// Version is that of this structure.
	Version int    `json:"version"`
	Result  string `json:"result"`
	// Reached lists the addresses that have accepted a connection, and Unreached the others.
	Reached   []string `json:"reached,omitempty"`
	Unreached []string `json:"unreached,omitempty"`
	// Message is why it failed.
	Message string `json:"message,omitempty"`
}

// Result is the result of a mover.
type Result struct {
	// Version is that of this structure.
	Version int `json:"version"`
	// Side is Sender, Receiver or Seal; Pass is Warm or Last.
	Side   string `json:"side"`
	Pass   string `json:"pass,omitempty"`
	Result string `json:"result"`
	// Root is that of this side, PeerRoot that of the other: "blake3:" and 64 hex digits.
	Root     string `json:"root,omitempty"`
	PeerRoot string `json:"peerRoot,omitempty"`
	// Entries, Files, Bytes and Holes (in bytes) are of the source, or of the side that was sealed.
	Entries int64 `json:"entries"`
	Files   int64 `json:"files"`
	Bytes   int64 `json:"bytes"`
	Holes   int64 `json:"holes,omitempty"`
	// Fetched is how many files were requested. Received and Sent are bytes on the network, and Written is
	// bytes written. Removed is how many entries were removed.
	Fetched  int64 `json:"fetched,omitempty"`
	Received int64 `json:"received,omitempty"`
	Sent     int64 `json:"sent,omitempty"`
	Written  int64 `json:"written,omitempty"`
	Removed  int64 `json:"removed,omitempty"`
	// Vanished and Changed are how many files are left to the next pass.
	Vanished int64 `json:"vanished,omitempty"`
	Changed  int64 `json:"changed,omitempty"`
	// Tally is that of this side, after a last pass with Later: for a seal of the source with another root.
	Tally string `json:"tally,omitempty"`
	// Verify is how the sides were compared: Full (every byte was read), Changed, or Later (not yet).
	Verify string `json:"verify,omitempty"`
	// Read is how many bytes of this side were read for the comparison. Trusted is how many were not, because
	// nothing has changed since a warm pass read them.
	Read    int64 `json:"read,omitempty"`
	Trusted int64 `json:"trusted,omitempty"`
	// Known is how many bytes the next pass need not read on either side, because of what this pass has kept.
	// Young is how many it must read because they had changed less than 60 s before, on the side with more of
	// them.
	Known int64 `json:"known,omitempty"`
	Young int64 `json:"young,omitempty"`
	// Differences is how many entries differ, Path is the first of them, and What describes its difference.
	Differences int64  `json:"differences,omitempty"`
	Path        string `json:"path,omitempty"`
	What        string `json:"what,omitempty"`
	// Seconds is the duration, and Verifying the part of it for the comparison.
	Seconds   float64 `json:"seconds"`
	Verifying float64 `json:"verifying,omitempty"`
	// ReadRate is the rate in bytes a second at which this side reads for a proof, from a sample after a warm
	// pass. 0 if it was not measured, or too little was read.
	ReadRate int64 `json:"readRate,omitempty"`
	// FileSystem is the file system type of this side.
	FileSystem string `json:"fileSystem,omitempty"`
	// Locked is true if no other writer held this side's volume from the beginning to the end.
	Locked bool `json:"locked,omitempty"`
	// Fingerprint is that of this mover's key.
	Fingerprint string `json:"fingerprint,omitempty"`
	// Message is why it failed, and the remedy.
	Message string `json:"message,omitempty"`
}

// Count copies the totals of a list.
func (r *Result) Count(t entry.Totals) {
	r.Entries, r.Files, r.Bytes, r.Holes = int64(t.Entries), int64(t.Files), int64(t.Bytes), int64(t.Holes)
	r.Read, r.Trusted = int64(t.Read), int64(t.Trusted)
}

// Root formats a root digest.
func Root(digest [32]byte) string { return "blake3:" + hex.EncodeToString(digest[:]) }

// Escape makes a path printable: bytes that are not printable ASCII become \x.., and a backslash is doubled.
func Escape(path string) string {
	quoted := strconv.QuoteToASCII(path)
	return quoted[1 : len(quoted)-1]
}

// JSON returns the result within a maximum of bytes: texts are shortened until it fits.
func (r Result) JSON(most int) []byte {
	for limit := most; ; limit /= 2 {
		cut := r
		cut.Path, cut.What, cut.Message = shorten(r.Path, limit), shorten(r.What, limit), shorten(r.Message, limit)
		text, err := json.Marshal(cut)
		if err != nil {
			return []byte(`{"result":"` + Failed + `"}`) // numbers that JSON cannot represent
		}
		if len(text) <= most || limit == 0 {
			return text
		}
	}
}

// shorten cuts a text in its middle, because its start and end are the most informative.
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
