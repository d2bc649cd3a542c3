package tree

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"

	"github.com/zeebo/blake3"

	"github.com/sliceshift/sliceshift/mover/entry"
)

// A Tally is a summary of fixed size of all parts of a tree. A part is a leaf of a file's content, or an entry
// without its content. Two trees that differ in a few parts find those from their tallies alone, when one of the
// trees cannot be read any more. The roots decide whether trees are equal; a tally only names where they are not.
//
// Each part has a number (of its path and position) and a value (of its digest), and belongs to one of a few groups.
// A group is three sums over its parts, modulo a prime: of the values, of number times value, and of number squared
// times value. If one part of a group differs, the differences of these sums are d, n*d and n*n*d, which gives its
// number n (the syndromes of a Reed-Solomon code). If more than one differs, the three do not fit each other.
type Tally [groups][3]uint64

const (
	groups = 4
	// prime is 2^61 - 1.
	prime = 1<<61 - 1
	// ofEntry is the position of an entry without its content.
	ofEntry = -1
)

// number returns the number of a part, which is not 0.
func number(path string, leaf int64) uint64 {
	h := blake3.New()
	_, _ = h.WriteString(path)
	_, _ = h.Write(binary.BigEndian.AppendUint64([]byte{0}, uint64(leaf)))
	digest := sum(h)
	return binary.BigEndian.Uint64(digest[:])%(prime-1) + 1
}

func modulo(a, b uint64) uint64 {
	high, low := bits.Mul64(a, b)
	return bits.Rem64(high, low, prime)
}

func less(a, b uint64) uint64 { return (a + prime - b) % prime }

// Add adds a part with a digest.
func (t *Tally) Add(path string, leaf int64, digest []byte) {
	n, value := number(path, leaf), binary.BigEndian.Uint64(digest)%prime
	group := &t[n%groups]
	for i := range group {
		group[i] = (group[i] + value) % prime
		value = modulo(value, n)
	}
}

// AddEntry adds an entry without its content. Room is for its row, and is returned with it.
func (t *Tally) AddEntry(e *entry.Entry, room []byte) []byte {
	bare := *e
	bare.Digest = [32]byte{}
	room = entry.AppendRow(room[:0], &bare)
	digest := blake3.Sum256(room)
	t.Add(e.Path, ofEntry, digest[:])
	return room
}

// Differing returns the numbers of the parts in which two trees differ, and whether there are more, of
// which none can be named.
func (t Tally) Differing(other Tally) (numbers map[uint64]bool, more bool) {
	numbers = map[uint64]bool{}
	for i := range t {
		d := [3]uint64{less(t[i][0], other[i][0]), less(t[i][1], other[i][1]), less(t[i][2], other[i][2])}
		switch {
		case d == [3]uint64{}:
		case d[0] == 0, modulo(d[0], d[2]) != modulo(d[1], d[1]):
			more = true
		default:
			numbers[modulo(d[1], inverse(d[0]))] = true
		}
	}
	return numbers, more
}

// inverse returns 1/a modulo the prime, by Fermat's little theorem.
func inverse(a uint64) uint64 {
	result := uint64(1)
	for power := uint64(prime - 2); power > 0; power >>= 1 {
		if power&1 == 1 {
			result = modulo(result, a)
		}
		a = modulo(a, a)
	}
	return result
}

// String returns the tally as 128 characters.
func (t Tally) String() string {
	var b []byte
	for _, group := range t {
		for _, sum := range group {
			b = binary.BigEndian.AppendUint64(b, sum)
		}
	}
	return base64.RawURLEncoding.EncodeToString(b)
}

// ParseTally parses the text of a tally.
func ParseTally(text string) (t Tally, err error) {
	b, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || len(b) != groups*3*8 {
		return t, fmt.Errorf("%q is no tally: %w", text, errors.Join(err, errTally))
	}
	for i := range t {
		for j := range t[i] {
			if t[i][j] = binary.BigEndian.Uint64(b); t[i][j] >= prime {
				return Tally{}, fmt.Errorf("%q is no tally: %w", text, errTally)
			}
			b = b[8:]
		}
	}
	return t, nil
}

var errTally = errors.New("it has 128 characters for 12 numbers below 2^61-1")

// PartOf returns the description of the first part of an entry that has one of the numbers; empty if none has.
func PartOf(e *entry.Entry, numbers map[uint64]bool) string {
	if numbers[number(e.Path, ofEntry)] {
		return "everything but its content"
	}
	if !e.Kind.HasContent() {
		return ""
	}
	for leaf := range max(Leaves(e.Size), 1) {
		if numbers[number(e.Path, leaf)] {
			begin := leaf * Leaf
			return fmt.Sprintf("bytes %d to %d of %d", begin, min(begin+Leaf, e.Size), e.Size)
		}
	}
	return ""
}
