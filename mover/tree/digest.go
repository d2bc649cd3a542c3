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

// Digest returns the digest of the first size bytes of the content, and how many bytes were read. Holes are not
// read.
func (h *Hasher) Digest(ctx context.Context, c Content, size int64) (digest [32]byte, read int64, err error) {
	all := blake3.New()
	if size <= stripe {
		leaves, n, err := h.leaves(ctx, c, 0, size, size)
		if err != nil {
			return digest, n, err
		}
		_, _ = all.Write(leaves)
		return sum(all), n, nil
	}
	for at := int64(0); at < size; {
		data, _, err := c.NextData(at, size)
		if err != nil {
			return digest, read, err
		}
		if skip := (data - at) / Leaf; skip > 0 {
			for range skip {
				_, _ = all.Write(zeroLeaf[:])
			}
			at += skip * Leaf
			continue
		}
		next, n, err := h.wave(ctx, c, at, size, all)
		read += n
		if err != nil {
			return digest, read, err
		}
		at = next
	}
	return sum(all), read, nil
}

// wave reads several stripes at once.
func (h *Hasher) wave(ctx context.Context, c Content, at, size int64, all *blake3.Hasher) (next, read int64, err error) {
	var leaves [wave][]byte
	var counts [wave]int64
	group, ctx := errgroup.WithContext(ctx)
	for i := range wave {
		begin := at + int64(i)*stripe
		if begin >= size {
			break
		}
		next = min(begin+stripe, size)
		group.Go(func() (err error) {
			leaves[i], counts[i], err = h.leaves(ctx, c, begin, min(begin+stripe, size), size)
			return err
		})
	}
	err = group.Wait()
	for i := range wave {
		_, _ = all.Write(leaves[i])
		read += counts[i]
	}
	return next, read, err
}

// leaves returns the digests of the leaves from begin to end.
func (h *Hasher) leaves(ctx context.Context, c Content, begin, end, size int64) (leaves []byte, read int64, err error) {
	for at := begin; at < end; {
		if err := ctx.Err(); err != nil {
			return nil, read, err
		}
		n := min(Leaf, end-at)
		data := at
		if size > smallBuffer { // for smaller files, finding holes takes longer than reading them
			if data, _, err = c.NextData(at, size); err != nil {
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
