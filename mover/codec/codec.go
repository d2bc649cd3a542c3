// Package codec reads and writes the numbers and byte strings of the mover's protocol and files. Input is
// untrusted: each length has a limit, and the first mistake ends the reading.
package codec

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// ErrMalformed is wrapped by every error about the bytes of a peer or of a file.
var ErrMalformed = errors.New("malformed")

// AppendBytes appends a string, preceded by its length.
func AppendBytes[T ~string | ~[]byte](b []byte, value T) []byte {
	return append(binary.AppendUvarint(b, uint64(len(value))), value...)
}

// AppendBool appends a boolean as one byte.
func AppendBool(b []byte, value bool) []byte {
	if value {
		return append(b, 1)
	}
	return append(b, 0)
}

// Reader takes values off the front of its input. After the first mistake every value is zero, and Err returns
// the mistake.
type Reader struct {
	rest []byte
	err  error
}

// NewReader returns a Reader of b, without a copy.
func NewReader(b []byte) *Reader { return &Reader{rest: b} }

// Err returns the first mistake.
func (r *Reader) Err() error { return r.err }

// Len returns how many bytes are left.
func (r *Reader) Len() int { return len(r.rest) }

// End returns the first mistake, or an error if bytes are left.
func (r *Reader) End() error {
	if r.err == nil && len(r.rest) > 0 {
		r.fail("%d bytes too many", len(r.rest))
	}
	return r.err
}

// Uvarint returns a number of at most most.
func (r *Reader) Uvarint(most uint64) uint64 {
	value, n := binary.Uvarint(r.rest)
	switch {
	case r.err != nil:
		return 0
	case n <= 0:
		r.fail("a number is cut")
		return 0
	case value > most:
		r.fail("%d where at most %d is allowed", value, most)
		return 0
	}
	r.rest = r.rest[n:]
	return value
}

// Varint returns a signed number.
func (r *Reader) Varint() int64 {
	value, n := binary.Varint(r.rest)
	if r.err != nil {
		return 0
	}
	if n <= 0 {
		r.fail("a number is cut")
		return 0
	}
	r.rest = r.rest[n:]
	return value
}

// Fixed returns the next n bytes. They are part of the input, not a copy.
func (r *Reader) Fixed(n int) []byte {
	if r.err != nil {
		return nil
	}
	if len(r.rest) < n {
		r.fail("%d bytes where %d are needed", len(r.rest), n)
		return nil
	}
	value := r.rest[:n:n]
	r.rest = r.rest[n:]
	return value
}

// Bytes returns a byte string of limited length. It is part of the input, not a copy.
func (r *Reader) Bytes(most int) []byte { return r.Fixed(int(r.Uvarint(uint64(most)))) }

// Bool returns one byte, 0 or 1, as a boolean.
func (r *Reader) Bool() bool { return r.Uvarint(1) == 1 }

// Fail records a mistake that the caller has found in a value.
func (r *Reader) Fail(format string, args ...any) { r.fail(format, args...) }

func (r *Reader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf("%w: "+format, append([]any{ErrMalformed}, args...)...)
	}
}
