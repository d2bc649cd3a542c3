package transfer

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"syscall"
	"time"

	"github.com/sliceshift/sliceshift/mover/codec"
	"github.com/sliceshift/sliceshift/mover/differ"
	"github.com/sliceshift/sliceshift/mover/entry"
	"github.com/sliceshift/sliceshift/mover/tree"
	"github.com/sliceshift/sliceshift/mover/wire"
)

// listing is the list of one side, with the findings of earlier readings.
type listing struct {
	source tree.Source
	sync   func() error
	now    func() time.Time
	log    *slog.Logger
	// reading returns the Reading that starts at a time; nil if no findings count.
	reading func(time.Time) differ.Reading
	// known holds earlier findings, and record takes the present ones; nil if there are none.
	known, record *os.File
}

// list lists a source. Before contents are read, all data are written to the disk. Earlier findings do not
// count if anything is wrong with them. If the present findings cannot be kept, the next pass reads more.
func list(ctx context.Context, l listing, options tree.ListOptions, emit func(*entry.Entry) error) (tree.Listed, error) {
	if !options.Digest {
		return l.source.List(ctx, options, emit)
	}
	begin := l.now()
	options.Synced = entry.Time{Sec: begin.Unix(), Nsec: uint32(begin.Nanosecond())}
	var reading differ.Reading
	if l.reading != nil { // before the sync, which may take long: a clock that was set is detected by two clocks read at once
		reading = l.reading(begin)
	}
	if err := l.sync(); err != nil {
		return tree.Listed{}, err
	}
	if l.reading == nil {
		return l.source.List(ctx, options, emit)
	}
	if l.known != nil {
		index, err := tree.OpenIndex(l.known, reading)
		if err != nil {
			l.log.Warn("all is read: nothing that was read before counts", "why", err)
		}
		options.Known = index
	}
	if l.record != nil && differ.TrustedFileSystem(reading.FileSystem) {
		options.Record = tree.CreateIndex(l.record, reading)
	}
	listed, err := l.source.List(ctx, options, emit)
	if err != nil || options.Record == nil {
		return listed, err
	}
	if err := options.Record.Commit(); err != nil {
		l.log.Warn("what was read is not kept for the last pass", "why", err)
		listed.Known = 0
		if !errors.Is(err, syscall.EIO) {
			err = nil
		}
		return listed, err
	}
	return listed, nil
}

// Seal lists one side alone, and returns its root.
func Seal(ctx context.Context, source tree.Source, sync func() error, options tree.ListOptions) (tree.Listed, error) {
	options.Digest = true
	return list(ctx, listing{source: source, sync: sync, now: time.Now}, options, func(*entry.Entry) error { return nil })
}

// receiveHello receives the peer's first message, and returns an error if the peers do not fit.
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

// errMisfit is the error for two movers that do not fit: a retry does not help.
var errMisfit = errors.New("the movers do not fit")

const helloTime = 20 * time.Second

func appendText(text string) []byte { return codec.AppendBytes(nil, wire.Cut(text)) }
