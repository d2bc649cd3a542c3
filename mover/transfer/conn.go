package transfer

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"sync/atomic"
	"time"

	"github.com/klauspost/compress/zstd"
	"golang.org/x/time/rate"

	"github.com/sliceshift/sliceshift/mover/codec"
	"github.com/sliceshift/sliceshift/mover/wire"
)

const (
	// silence is how long a peer that must answer may send nothing.
	silence = 90 * time.Second
	// alive is the interval at which a working side sends a sign of life.
	alive = 5 * time.Second
	// least is the smallest payload that is packed, in bytes.
	least = 512
)

// conn sends and receives frames. One goroutine sends and one receives.
type conn struct {
	net     net.Conn
	in      *bufio.Reader
	out     *bufio.Writer
	frame   []byte // as received
	plain   []byte // unpacked
	packed  []byte
	packer  *zstd.Encoder
	opener  *zstd.Decoder
	packing packing
	limit   *rate.Limiter
	sent    *atomic.Int64
	silence time.Duration
}

func newConn(raw net.Conn, limit *rate.Limiter, sent *atomic.Int64) (*conn, error) {
	packer, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(wire.MaxData), zstd.WithLowerEncoderMem(true), zstd.WithEncoderCRC(false))
	if err != nil {
		return nil, err
	}
	opener, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxMemory(2*wire.MaxPayload), zstd.WithDecodeAllCapLimit(true))
	if err != nil {
		return nil, err
	}
	return &conn{
		net: raw, in: bufio.NewReaderSize(raw, 64<<10), out: bufio.NewWriterSize(raw, 64<<10),
		packer: packer, opener: opener, limit: limit, sent: sent, silence: silence,
	}, nil
}

func (c *conn) close() {
	_ = c.net.Close()
	c.opener.Close()
}

// send sends a frame, packed if that pays.
func (c *conn) send(ctx context.Context, t wire.Type, payload []byte) error {
	f := wire.Frame{Type: t, Payload: payload}
	if len(payload) >= least && c.packing.wanted() {
		begin := time.Now()
		c.packed = binary.AppendUvarint(c.packed[:0], uint64(len(payload)))
		c.packed = c.packer.EncodeAll(payload, c.packed)
		c.packing.packed(len(payload), len(c.packed), time.Since(begin))
		if len(c.packed) < len(payload) {
			f.Flags, f.Payload = wire.Packed, c.packed
		}
	}
	if err := wait(ctx, c.limit, len(f.Payload)); err != nil {
		return err
	}
	begin := time.Now()
	if err := c.net.SetWriteDeadline(begin.Add(c.silence)); err != nil {
		return err
	}
	if err := wire.WriteFrame(c.out, f); err != nil {
		return err
	}
	if len(f.Payload) >= wire.MaxData/2 {
		c.packing.sent(len(f.Payload), time.Since(begin))
	}
	if c.sent != nil {
		c.sent.Add(int64(len(f.Payload)))
	}
	return nil
}

func (c *conn) flush() error { return c.out.Flush() }

// reply sends the last frame of an answer.
func (c *conn) reply(ctx context.Context, t wire.Type, payload []byte) error {
	if err := c.send(ctx, t, payload); err != nil {
		return err
	}
	return c.flush()
}

// receive returns the next frame, within a time; 0 waits without a limit. The payload is valid until the next
// call.
func (c *conn) receive(within time.Duration) (wire.Frame, error) {
	for {
		var deadline time.Time
		if within > 0 {
			deadline = time.Now().Add(within)
		}
		if err := c.net.SetReadDeadline(deadline); err != nil {
			return wire.Frame{}, err
		}
		f, buffer, err := wire.ReadFrame(c.in, c.frame)
		c.frame = buffer
		if err != nil {
			return f, err
		}
		if f.Type == wire.TypeAlive {
			continue
		}
		if f.Flags&wire.Packed != 0 {
			f.Payload, err = c.unpack(f.Payload)
		}
		return f, err
	}
}

func (c *conn) unpack(payload []byte) ([]byte, error) {
	size, n := binary.Uvarint(payload)
	if n <= 0 || size > wire.MaxPayload {
		return nil, fmt.Errorf("%w: a packed frame of %d bytes", codec.ErrMalformed, size)
	}
	if c.plain == nil {
		c.plain = make([]byte, 0, wire.MaxPayload)
	}
	plain, err := c.opener.DecodeAll(payload[n:], c.plain[:0])
	if err != nil || uint64(len(plain)) != size {
		return nil, errors.Join(fmt.Errorf("%w: a packed frame that does not open", codec.ErrMalformed), err)
	}
	return plain, nil
}

// wait takes n bytes of a limit, even if n exceeds its burst.
func wait(ctx context.Context, limit *rate.Limiter, n int) error {
	if limit == nil {
		return nil
	}
	for n > 0 {
		part := min(n, limit.Burst())
		if err := limit.WaitN(ctx, part); err != nil {
			return err
		}
		n -= part
	}
	return nil
}

// Limit returns a limit in bytes a second; 0 is no limit.
func Limit(bytes int64) *rate.Limiter {
	if bytes <= 0 {
		return nil
	}
	return rate.NewLimiter(rate.Limit(bytes), int(min(max(bytes, 1), wire.MaxData)))
}
