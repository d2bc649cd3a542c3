package tree

import (
	"context"
	"errors"
	"io"

	"github.com/zeebo/blake3"
	"golang.org/x/sync/errgroup"
)

const (
	// Leaf is the size of the parts of a content that have a digest of their own, so that a large file is read
	// in several places at once. The digest of a content is that of its leaves' digests in order.
	Leaf = 1 << 20
	// stripe is how much of a large file one reader takes, and wave is how many stripes are read at once.
	stripe, wave = 8 * Leaf, 16
)

// Hasher reads contents. Its number of buffers limits how many reads run at once.
type Hasher struct {
	small, large chan []byte
	throttle     Throttle
}

// Throttle waits until n more bytes may be read. Nil never waits.
type Throttle func(ctx context.Context, n int) error

const (
	// smallBuffer is enough for most small files.
	smallBuffer = 64 << 10
	// readers is how many goroutines read. They wait for the disk, a few milliseconds each time if it is behind
	// a network. So their number does not depend on the number of processors.
	readers = 16
)

// NewHasher returns a Hasher with buffers for that many readers of small files, and of parts of large ones.
func NewHasher(throttle Throttle) *Hasher {
	return &Hasher{small: buffers(readers), large: buffers(readers), throttle: throttle}
}

func buffers(n int) chan []byte {
	made := make(chan []byte, n)
	for range n {
		made <- nil
	}
	return made
}

// take returns a buffer for n bytes, and the channel to return it to.
func (h *Hasher) take(n int) (buffer []byte, to chan<- []byte) {
	from, size := h.small, smallBuffer
	if n > smallBuffer {
		from, size = h.large, Leaf
	}
	if buffer = <-from; buffer == nil {
		buffer = Aligned(size)
	}
	return buffer, from
}

// zeroLeaf is the digest of a leaf in a hole.
var zeroLeaf = blake3.Sum256(make([]byte, Leaf))

// Parts holds the known leaves of a content before it is read.
type Parts struct {
	// Known are the digests of all leaves in order; nil if none is known. Changed reports which leaves are read all
	// the same; nil is none.
	Known   []byte
	Changed func(leaf int64) bool
	// Each takes the digests of all leaves in order, also of those that are not read; nil if they are not needed.
	Each func(leaf int64, digest []byte)
}

// known returns the digest of a leaf that need not be read; nil if it must be.
func (p Parts) known(leaf int64) []byte {
	if p.Known == nil || p.Changed != nil && p.Changed(leaf) {
		return nil
	}
	return p.Known[leaf*DigestSize:][:DigestSize]
}

// DigestSize is the size of a digest in bytes.
const DigestSize = 32

// Leaves returns how many leaves a content of a size has.
func Leaves(size int64) int64 { return (size + Leaf - 1) / Leaf }

// Digest returns the digest of the first size bytes of the content, and how many bytes were read. Holes are not
// read.
func (h *Hasher) Digest(ctx context.Context, c Content, size int64) (digest [32]byte, read int64, err error) {
	return h.DigestParts(ctx, c, size, Parts{})
}

// rolling rolls the digests of leaves up to the digest of their content.
type rolling struct {
	all   *blake3.Hasher
	parts Parts
	next  int64
}

func (r *rolling) put(leaves []byte) {
	_, _ = r.all.Write(leaves)
	if r.parts.Each == nil {
		return
	}
	for ; len(leaves) > 0; leaves = leaves[DigestSize:] {
		r.parts.Each(r.next, leaves[:DigestSize])
		r.next++
	}
}

// DigestParts is Digest for a content of which some leaves need not be read.
func (h *Hasher) DigestParts(ctx context.Context, c Content, size int64, parts Parts) (digest [32]byte, read int64, err error) {
	if parts.Known != nil && int64(len(parts.Known)) != Leaves(size)*DigestSize {
		parts.Known = nil // they are of another content
	}
	all := rolling{all: blake3.New(), parts: parts}
	if size <= stripe {
		leaves, n, err := h.leaves(ctx, c, extent{0, size, size}, parts)
		if err != nil {
			return digest, n, err
		}
		all.put(leaves)
		return sum(all.all), n, nil
	}
	for at := int64(0); at < size; {
		data, _, err := c.NextData(at, size)
		if err != nil {
			return digest, read, err
		}
		if skip := (data - at) / Leaf; skip > 0 {
			for range skip {
				all.put(zeroLeaf[:])
			}
			at += skip * Leaf
			continue
		}
		next, n, err := h.wave(ctx, c, extent{at, size, size}, &all)
		read += n
		if err != nil {
			return digest, read, err
		}
		at = next
	}
	return sum(all.all), read, nil
}

// Leaves returns the digests of the leaves from begin, where a leaf begins, to end, of a content of a size. It reads
// several at once, and returns how many bytes it has read.
func (h *Hasher) Leaves(ctx context.Context, c Content, begin, end, size int64) (leaves []byte, read int64, err error) {
	all := rolling{all: blake3.New(), parts: Parts{Each: func(_ int64, digest []byte) { leaves = append(leaves, digest...) }}}
	for begin < end {
		next, n, err := h.wave(ctx, c, extent{begin, end, size}, &all)
		if read += n; err != nil {
			return nil, read, err
		}
		begin = next
	}
	return leaves, read, nil
}

// extent is a part of a content of a size, in bytes.
type extent struct{ begin, end, size int64 }

// wave reads several stripes at once.
func (h *Hasher) wave(ctx context.Context, c Content, part extent, all *rolling) (next, read int64, err error) {
	var leaves [wave][]byte
	var counts [wave]int64
	group, ctx := errgroup.WithContext(ctx)
	for i := range wave {
		begin := part.begin + int64(i)*stripe
		if begin >= part.end {
			break
		}
		next = min(begin+stripe, part.end)
		group.Go(func() (err error) {
			leaves[i], counts[i], err = h.leaves(ctx, c, extent{begin, min(begin+stripe, part.end), part.size}, all.parts)
			return err
		})
	}
	err = group.Wait()
	for i := range wave {
		all.put(leaves[i])
		read += counts[i]
	}
	return next, read, err
}

// leaves returns the digests of the leaves of an extent.
func (h *Hasher) leaves(ctx context.Context, c Content, part extent, parts Parts) (leaves []byte, read int64, err error) {
	for at := part.begin; at < part.end; {
		if err := ctx.Err(); err != nil {
			return nil, read, err
		}
		n := min(Leaf, part.end-at)
		if known := parts.known(at / Leaf); known != nil {
			leaves, at = append(leaves, known...), at+n
			continue
		}
		data := at
		if part.size > smallBuffer { // for smaller files, finding holes takes longer than reading them
			if data, _, err = c.NextData(at, part.size); err != nil {
				return nil, read, err
			}
		}
		if data >= at+n {
			leaves = append(leaves, holeLeaf(n)...)
			at += n
			continue
		}
		leaf, err := h.leaf(ctx, c, at, int(n))
		if err != nil {
			return nil, read, err
		}
		leaves, read, at = append(leaves, leaf[:]...), read+n, at+n
	}
	return leaves, read, nil
}

func (h *Hasher) leaf(ctx context.Context, c Content, at int64, n int) (digest [32]byte, err error) {
	if h.throttle != nil {
		if err := h.throttle(ctx, n); err != nil {
			return digest, err
		}
	}
	buffer, to := h.take(n)
	defer func() { to <- buffer }()
	room := (n + sector - 1) / sector * sector // reads past the cache are of whole sectors
	got, err := c.ReadAt(buffer[:room], at)
	if got < n {
		if err == nil || errors.Is(err, io.EOF) {
			err = ErrChanged
		}
		return digest, err
	}
	return blake3.Sum256(buffer[:n]), nil
}

func holeLeaf(n int64) []byte {
	if n == Leaf {
		return zeroLeaf[:]
	}
	digest := blake3.Sum256(make([]byte, n))
	return digest[:]
}

func sum(h *blake3.Hasher) (digest [32]byte) {
	h.Sum(digest[:0])
	return digest
}
