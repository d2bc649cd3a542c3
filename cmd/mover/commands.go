package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/sliceshift/sliceshift/mover/block"
	"github.com/sliceshift/sliceshift/mover/differ"
	"github.com/sliceshift/sliceshift/mover/link"
	"github.com/sliceshift/sliceshift/mover/report"
	"github.com/sliceshift/sliceshift/mover/transfer"
	"github.com/sliceshift/sliceshift/mover/tree"
)

// volume is the volume to copy: either a tree or a device.
type volume struct {
	tree   *tree.Tree
	device *block.Device
}

func (s *settings) open(write bool) (volume, error) {
	if s.device != "" {
		device, err := block.Open(s.device, write)
		if err != nil {
			return volume{}, usage{err}
		}
		if s.size > device.Size {
			return volume{}, usage{errors.Join(fmt.Errorf("--size is %d, and %s has %d bytes", s.size, s.device, device.Size), device.Close())}
		}
		if s.size > 0 {
			device.Limit = s.size
		}
		return volume{device: device}, nil
	}
	opened, err := tree.Open(s.root)
	if err != nil {
		return volume{}, usage{err}
	}
	if write {
		if err := opened.Lock(); err != nil {
			return volume{}, errors.Join(err, opened.Close())
		}
	}
	return volume{tree: opened}, nil
}

func (v volume) source() tree.Source {
	if v.device != nil {
		return v.device
	}
	return v.tree
}

func (v volume) sync() error {
	if v.device != nil {
		return v.device.Sync()
	}
	return v.tree.Sync()
}

// reading returns a function that describes a read of one side of a copy, for trust in later reads. It is nil if no
// later read may rely on it.
func (v volume) reading(of, side string) func(time.Time) differ.Reading {
	if v.device != nil || of == "" {
		return nil
	}
	return func(now time.Time) differ.Reading { return v.tree.Reading(of, side, now) }
}

func (v volume) fileSystem() string {
	if v.device != nil {
		return ""
	}
	return v.tree.FileSystem
}

// locked reports whether no other writer that locks the volume was there since it was opened to write.
func (v volume) locked() bool { return v.device != nil || v.tree.Locked }

func (v volume) close() {
	if v.device != nil {
		_ = v.device.Close()
	} else {
		_ = v.tree.Close()
	}
}

// session is one run of a command on a volume.
type session struct {
	*settings
	moved  volume
	log    *slog.Logger
	began  time.Time
	result report.Result
}

// on opens the volume of the settings, calls run on it, and returns its result.
func (s *settings) on(to streams, write bool, result report.Result, run func(*session) error) (report.Result, error) {
	here := &session{settings: s, log: s.logger(to.log), began: time.Now(), result: result}
	var err error
	if here.moved, err = s.open(write); err != nil {
		return here.result, err
	}
	defer here.moved.close()
	here.result.FileSystem, here.result.Locked = here.moved.fileSystem(), write && here.moved.locked()
	err = run(here)
	return here.result, err
}

// tell logs the progress until stop is called.
func (s *session) tell(ctx context.Context, state func() report.State) (stop func()) {
	watch, stop := context.WithCancel(ctx)
	go report.Progress(watch, s.log, s.progress, state)
	return stop
}

// took records the elapsed time.
func (s *session) took() { s.result.Seconds = time.Since(s.began).Seconds() }

// connector loads the key of this mover, gets the fingerprint of its peer, and listens or dials.
func (s *session) connector(ctx context.Context) (transfer.Connector, func() error, error) {
	identity, err := link.NewIdentity()
	if s.identity != "" {
		identity, err = link.LoadIdentity(s.identity)
	}
	if err != nil {
		return nil, nil, usage{err}
	}
	s.result.Fingerprint = string(identity.Fingerprint)
	s.log.Info("this mover's key", "fingerprint", identity.Fingerprint)
	peer, err := s.peerKey(ctx, s.log)
	if err != nil {
		return nil, nil, err
	}
	if s.connect != "" {
		return link.Dialer{Address: s.connect, Identity: identity, Peer: peer}, func() error { return nil }, nil
	}
	if s.relay != "" {
		relayed, err := link.ListenForRelay(s.relay, identity, peer)
		if err != nil {
			return nil, nil, usage{fmt.Errorf("--relay: %w", err)}
		}
		s.log.Info("listening for a relay", "address", relayed.Address())
		return relayed, relayed.Close, nil
	}
	listener, err := link.Listen(s.listen, identity, peer, func(err error) { s.log.Debug("turned away", "error", err) })
	if err != nil {
		return nil, nil, usage{fmt.Errorf("--listen: %w", err)}
	}
	s.log.Info("listening", "address", listener.Address())
	return listener, listener.Close, nil
}

func send(ctx context.Context, s *settings, to streams) (report.Result, error) {
	return s.on(to, false, report.Result{Side: "Sender", Result: report.Served}, func(s *session) error { return s.send(ctx) })
}

func (s *session) send(ctx context.Context) error {
	connector, end, err := s.connector(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = end() }()
	bandwidth, _ := rate(s.bandwidth) // checked before
	reading, _ := rate(s.readRate)
	sender := transfer.NewSender(transfer.SenderOptions{
		Source: s.moved.source(), Sync: s.moved.sync, Device: s.device != "", Dials: s.listen == "",
		Bandwidth: transfer.Limit(bandwidth), ReadRate: transfer.Limit(reading), Forget: s.forget,
		Reading: s.moved.reading(s.copy, "sender"), Scratch: s.scratch, Patience: s.patience, Log: s.log, Now: time.Now,
	})
	defer s.tell(ctx, func() report.State {
		return report.State{Step: "sending", Done: sender.Sent.Load() + sender.Read.Load()}
	})()
	err = sender.Run(ctx, connector)
	if listed := sender.Listed(); listed != nil {
		s.result.Root = report.Root(listed.Root)
		s.result.Count(listed.Totals)
	}
	s.result.Sent = sender.Sent.Load()
	s.took()
	if err == nil && s.forget && s.readRate == "" {
		s.sample(ctx) // while the application runs; it costs no more than a warm pass
	}
	return err
}

// sampling is how long a side is read after a warm pass, to estimate the duration of a proof.
const sampling = 2 * time.Second

// sample measures how fast this side is read for a proof. If that fails, the pass is still valid.
func (s *session) sample(ctx context.Context) {
	rate, err := transfer.Sample(ctx, s.moved.source(), sampling)
	if err != nil {
		s.log.Warn("the read rate of this side was not measured", "error", err)
		return
	}
	s.result.ReadRate = rate
}

func receive(ctx context.Context, s *settings, to streams) (report.Result, error) {
	return s.on(to, true, report.Result{Side: "Receiver", Pass: s.pass, Result: report.Equal}, func(s *session) error { return s.receive(ctx) })
}

func (s *session) receive(ctx context.Context) error {
	connector, end, err := s.connector(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = end() }()
	receiver, err := transfer.NewReceiver(transfer.ReceiverOptions{
		Tree: s.moved.tree, Device: s.moved.device, Settled: s.pass == passLast, Compare: s.compareBy(),
		Verify: transfer.Verify(s.verify), Copy: s.copy, Devices: s.devices, Workers: s.connections, Patience: s.patience, Log: s.log, Now: time.Now,
	})
	if err != nil {
		return err
	}
	defer s.tell(ctx, receiver.State)()
	outcome, err := receiver.Run(ctx, connector)
	s.fill(receiver, outcome)
	s.took()
	receiver.Report(context.WithoutCancel(ctx), err == nil, text(err))
	if err == nil && s.pass == passWarm {
		s.sample(ctx)
	}
	return err
}

// text returns the text of an error for the sender.
func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// fill records the result of a pass. A pass while the application runs proves nothing, and reports no root.
func (s *session) fill(receiver *transfer.Receiver, outcome transfer.Outcome) {
	c, result := &receiver.Counts, &s.result
	if s.verify == string(transfer.VerifyLater) {
		defer s.fillLater(receiver, outcome)
	}
	proves := s.verify == string(transfer.VerifyFull) || s.verify == string(transfer.VerifyChanged) && s.pass == passLast
	if !proves {
		result.Result = report.Copied
	}
	result.Entries, result.Files, result.Bytes, result.Holes = c.Entries.Load(), c.Files.Load(), c.Bytes.Load(), c.Holes.Load()
	if outcome.Own != nil && proves {
		result.Count(outcome.Peer.Totals)
		result.Root, result.PeerRoot = report.Root(outcome.Own.Root), report.Root(outcome.Peer.Root)
		result.Verify = s.verify
	}
	if outcome.Own != nil && outcome.Peer != nil {
		result.Trusted, result.Young = int64(outcome.Own.Trusted), int64(max(outcome.Own.Young, outcome.Peer.Young))
		if outcome.Kept {
			result.Known = int64(min(outcome.Own.Known, outcome.Peer.Known))
		}
	}
	result.Fetched, result.Received, result.Written, result.Removed = c.Fetched.Load(), c.Received.Load(), c.Written.Load(), c.Removed.Load()
	result.Vanished, result.Changed, result.Read = c.Vanished.Load(), c.Changed.Load(), c.Verified.Load()
	result.Verifying = outcome.Verifying.Seconds()
	if outcome.Differences > 0 && proves {
		result.Differences = outcome.Differences
		result.Path, result.What = report.Escape(outcome.First.Path), outcome.First.What
	}
}

// fillLater records the result of a pass with Later. After a last pass it has the root of this side alone.
func (s *session) fillLater(receiver *transfer.Receiver, outcome transfer.Outcome) {
	result := &s.result
	result.Known, result.Young = 0, outcome.Young
	if outcome.Own == nil {
		return
	}
	read := receiver.Counts.Verified.Load()
	if outcome.Kept {
		result.Known = int64(outcome.Own.Known)
	}
	result.Read, result.Trusted = read, max(int64(outcome.Own.Bytes)-int64(outcome.Own.Holes)-read, 0)
	if s.pass != passLast {
		return
	}
	result.Verify = s.verify
	if outcome.Differences > 0 {
		result.Differences = outcome.Differences
		result.Path, result.What = report.Escape(outcome.First.Path), outcome.First.What
		return
	}
	result.Result, result.Root, result.Tally = report.ReadBack, report.Root(outcome.Own.Root), outcome.Tally.String()
}

func seal(ctx context.Context, s *settings, to streams) (report.Result, error) {
	return s.on(to, false, report.Result{Side: "Seal", Result: report.Sealed}, func(s *session) error { return s.seal(ctx) })
}

func (s *session) seal(ctx context.Context) error {
	var read atomic.Int64
	defer s.tell(ctx, func() report.State { return report.State{Step: "reading", Done: read.Load()} })()
	options := tree.ListOptions{Settled: true, Progress: &read}
	if s.tally != "" {
		options.Tally = &tree.Tally{}
	}
	listed, err := transfer.Seal(ctx, s.moved.source(), s.moved.sync, options)
	s.result.Count(listed.Totals)
	if err == nil {
		s.result.Root = report.Root(listed.Root)
		err = s.locate(ctx, options.Tally)
	}
	s.took()
	return err
}

// locate names the first part in which this side differs from the one of --tally.
func (s *session) locate(ctx context.Context, own *tree.Tally) error {
	if own == nil {
		return nil
	}
	other, _ := tree.ParseTally(s.tally) // checked before
	numbers, more := own.Differing(other)
	path, what, err := transfer.Locate(ctx, s.moved.source(), numbers)
	switch {
	case err != nil, len(numbers) == 0 && !more:
		return err
	case what == "" && more:
		what = "many parts: none of them can be named"
	case what == "":
		what = "an entry or a part that only the other side has"
	case more:
		what += ", and in many other parts"
	}
	s.result.Path, s.result.What = report.Escape(path), what
	s.result.Differences = int64(max(len(numbers), 1))
	return nil
}
