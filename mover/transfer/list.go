package transfer

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sliceshift/sliceshift/mover/codec"
	"github.com/sliceshift/sliceshift/mover/entry"
	"github.com/sliceshift/sliceshift/mover/tree"
	"github.com/sliceshift/sliceshift/mover/wire"
)

// listing is a list of one side, with what is remembered of it.
type listing struct {
	source tree.Source
	sync   func() error
	index  string
	known  bool
	now    func() time.Time
}

// list lists a source. Before contents are read all of it is written to the disk, and what is known of
// them is kept for the next time.
func list(ctx context.Context, l listing, options tree.ListOptions, emit func(*entry.Entry) error) (tree.Listed, error) {
	if !options.Digest {
		return l.source.List(ctx, options, emit)
	}
	begin := l.now()
	options.Synced = entry.Time{Sec: begin.Unix(), Nsec: uint32(begin.Nanosecond())}
	if err := l.sync(); err != nil {
		return tree.Listed{}, err
	}
	if l.index == "" {
		return l.source.List(ctx, options, emit)
	}
	if l.known {
		index, err := tree.OpenIndex(l.index)
		if err == nil {
			options.Known = index
			defer func() { _ = index.Close() }()
		} else if !errors.Is(err, tree.ErrNoIndex) {
			return tree.Listed{}, err
		}
	}
	record, err := tree.CreateIndex(l.index)
	if err != nil {
		return tree.Listed{}, fmt.Errorf("writing the index: %w", err)
	}
	options.Record = record
	listed, err := l.source.List(ctx, options, emit)
	if err != nil {
		record.Discard()
		return listed, err
	}
	return listed, record.Commit()
}

// Seal lists one side by itself, and is its root.
func Seal(ctx context.Context, source tree.Source, sync func() error, index string, known bool, options tree.ListOptions) (tree.Listed, error) {
	options.Digest = true
	return list(ctx, listing{source: source, sync: sync, index: index, known: known, now: time.Now}, options, func(*entry.Entry) error { return nil })
}

// receiveHello takes the peer's first message, and says what does not fit.
func receiveHello(c *conn, own wire.Hello, within time.Duration) (wire.Hello, error) {
	f, err := c.receive(within)
	if err != nil {
		return wire.Hello{}, err
	}
	if f.Type != wire.TypeHello {
		return wire.Hello{}, wire.Unexpected(f)
	}
	peer, err := wire.ReadHello(f.Payload)
	switch {
	case err != nil:
		return peer, err
	case peer.Version != own.Version:
		return peer, fmt.Errorf("%w: the peer speaks version %d of the protocol, and this mover %d: run the same image on both sides", errMisfit, peer.Version, own.Version)
	case peer.Role == own.Role:
		return peer, fmt.Errorf("%w: both sides have the same role: one must send and the other receive", errMisfit)
	case peer.Device != own.Device:
		return peer, fmt.Errorf("%w: one side moves a block device and the other a tree: give both --device, or both --root", errMisfit)
	}
	return peer, nil
}

// errMisfit is that two movers are not made for each other: no second try mends it.
var errMisfit = errors.New("the movers do not fit")

const helloTime = 20 * time.Second

func appendText(text string) []byte { return codec.AppendBytes(nil, wire.Cut(text)) }
