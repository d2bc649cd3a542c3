package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/sliceshift/sliceshift/mover/block"
	"github.com/sliceshift/sliceshift/mover/link"
	"github.com/sliceshift/sliceshift/mover/report"
	"github.com/sliceshift/sliceshift/mover/transfer"
	"github.com/sliceshift/sliceshift/mover/tree"
)

// volume is what is moved: one of both is there.
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

func (v volume) fileSystem() string {
	if v.device != nil {
		return ""
	}
	return v.tree.FileSystem
}

func (v volume) close() {
	if v.device != nil {
		_ = v.device.Close()
	} else {
		_ = v.tree.Close()
	}
}

// connector says who this mover is, learns who its peer is, and listens or dials.
func (s *settings) connector(ctx context.Context, log *slog.Logger, result *report.Result) (transfer.Connector, func() error, error) {
	identity, err := link.NewIdentity()
	if s.identity != "" {
		identity, err = link.LoadIdentity(s.identity)
	}
	if err != nil {
		return nil, nil, usage{err}
	}
	result.Fingerprint = string(identity.Fingerprint)
	log.Info("this mover's key", "fingerprint", identity.Fingerprint)
	peer, err := s.peerKey(ctx, log)
	if err != nil {
		return nil, nil, err
	}
	if s.connect != "" {
		return link.Dialer{Address: s.connect, Identity: identity, Peer: peer}, func() error { return nil }, nil
	}
	listener, err := link.Listen(s.listen, identity, peer, func(err error) { log.Debug("turned away", "error", err) })
	if err != nil {
		return nil, nil, usage{fmt.Errorf("--listen: %w", err)}
	}
	log.Info("listening", "address", listener.Address())
	return listener, listener.Close, nil
}

func send(ctx context.Context, s *settings, to streams) (report.Result, error) {
	log, begin := s.logger(to.log), time.Now()
	result := report.Result{Side: "Sender", Result: report.Served}
	opened, err := s.open(false)
	if err != nil {
		return result, err
	}
	defer opened.close()
	result.FileSystem = opened.fileSystem()
	connector, end, err := s.connector(ctx, log, &result)
	if err != nil {
		return result, err
	}
	defer func() { _ = end() }()
	bandwidth, _ := rate(s.bandwidth) // checked before
	reading, _ := rate(s.readRate)
	sender := transfer.NewSender(transfer.SenderOptions{
		Source: opened.source(), Sync: opened.sync, Device: s.device != "", Dials: s.connect != "",
		Bandwidth: transfer.Limit(bandwidth), ReadRate: transfer.Limit(reading), Forget: s.forget,
		Index: s.index, Patience: s.patience, Log: log, Now: time.Now,
	})
	watch, stop := context.WithCancel(ctx)
	defer stop()
	go report.Progress(watch, log, s.progress, func() report.State {
		return report.State{Step: "sending", Done: sender.Sent.Load() + sender.Read.Load()}
	})
	err = sender.Run(ctx, connector)
	if listed := sender.Listed(); listed != nil {
		result.Root = report.Root(listed.Root)
		result.Count(listed.Totals)
	}
	result.Sent, result.Seconds = sender.Sent.Load(), time.Since(begin).Seconds()
	return result, err
}

func receive(ctx context.Context, s *settings, to streams) (report.Result, error) {
	log, begin := s.logger(to.log), time.Now()
	result := report.Result{Side: "Receiver", Pass: s.pass, Result: report.Equal}
	opened, err := s.open(true)
	if err != nil {
		return result, err
	}
	defer opened.close()
	result.FileSystem = opened.fileSystem()
	connector, end, err := s.connector(ctx, log, &result)
	if err != nil {
		return result, err
	}
	defer func() { _ = end() }()
	receiver, err := transfer.NewReceiver(transfer.ReceiverOptions{
		Tree: opened.tree, Device: opened.device, Settled: s.pass == passLast, Compare: s.compareBy(),
		Verify: transfer.Verify(s.verify), Index: s.index, Workers: s.connections, Patience: s.patience, Log: log, Now: time.Now,
	})
	if err != nil {
		return result, err
	}
	watch, stop := context.WithCancel(ctx)
	defer stop()
	go report.Progress(watch, log, s.progress, receiver.State)
	outcome, err := receiver.Run(ctx, connector)
	fill(&result, receiver, outcome)
	result.Seconds = time.Since(begin).Seconds()
	if s.verify == string(transfer.VerifyNone) {
		result.Result = report.Copied
	}
	receiver.Report(context.WithoutCancel(ctx), err == nil, text(err))
	return result, err
}

// text is what the sender is told of an error.
func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func fill(result *report.Result, receiver *transfer.Receiver, outcome transfer.Outcome) {
	c := &receiver.Counts
	result.Entries, result.Bytes = c.Entries.Load(), c.Bytes.Load()
	if outcome.Own != nil {
		result.Count(outcome.Peer.Totals)
		result.Root, result.PeerRoot = report.Root(outcome.Own.Root), report.Root(outcome.Peer.Root)
	}
	result.Fetched, result.Received, result.Written, result.Removed = c.Fetched.Load(), c.Received.Load(), c.Written.Load(), c.Removed.Load()
	result.Vanished, result.Changed, result.Read = c.Vanished.Load(), c.Changed.Load(), c.Verified.Load()
	result.Differences, result.Verifying = outcome.Differences, outcome.Verifying.Seconds()
	if outcome.Differences > 0 {
		result.Path, result.What = report.Escape(outcome.First.Path), outcome.First.What
	}
}

func seal(ctx context.Context, s *settings, to streams) (report.Result, error) {
	log, begin := s.logger(to.log), time.Now()
	result := report.Result{Side: "Seal", Result: report.Sealed}
	opened, err := s.open(false)
	if err != nil {
		return result, err
	}
	defer opened.close()
	result.FileSystem = opened.fileSystem()
	var read atomic.Int64
	watch, stop := context.WithCancel(ctx)
	defer stop()
	go report.Progress(watch, log, s.progress, func() report.State { return report.State{Step: "reading", Done: read.Load()} })
	listed, err := transfer.Seal(ctx, opened.source(), opened.sync, s.index, s.verify == "Changed", tree.ListOptions{Settled: true, Progress: &read})
	result.Count(listed.Totals)
	result.Seconds = time.Since(begin).Seconds()
	if err == nil {
		result.Root = report.Root(listed.Root)
	}
	return result, err
}
