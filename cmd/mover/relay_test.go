package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"testing"

	"github.com/sliceshift/sliceshift/internal/loopback"
	"github.com/sliceshift/sliceshift/internal/treetest"
	"github.com/sliceshift/sliceshift/mover/link"
)

// relayBetween connects to a sender and, once the sender writes, to a receiver, and copies data between them. It breaks
// one connection for each number in breaks, after that many bytes from the sender.
func relayBetween(ctx context.Context, from, to string, breaks []int64) {
	for ctx.Err() == nil {
		sender, err := (&net.Dialer{}).DialContext(ctx, "tcp", from)
		if err != nil {
			continue // it does not listen yet, or not any more
		}
		first := make([]byte, 1)
		if _, err := io.ReadFull(sender, first); err != nil {
			_ = sender.Close()
			continue
		}
		receiver, err := (&net.Dialer{}).DialContext(ctx, "tcp", to)
		if err != nil {
			_ = sender.Close()
			continue
		}
		var said io.Reader = sender
		if len(breaks) > 0 {
			said, breaks = io.LimitReader(sender, breaks[0]), breaks[1:]
		}
		go func() {
			_, _ = io.Copy(receiver, io.MultiReader(bytes.NewReader(first), said))
			_, _ = sender.Close(), receiver.Close()
		}()
		go func() {
			_, _ = io.Copy(sender, receiver)
			_, _ = sender.Close(), receiver.Close()
		}()
	}
}

// TestRelay: a sender and a receiver that both listen end with equal trees, even if the relay breaks off in between.
func TestRelay(t *testing.T) {
	source, destination, dir := t.TempDir(), t.TempDir(), t.TempDir()
	to := treetest.In(t, source)
	to.File("large", treetest.Bytes(1, 8<<20))
	for i := range 200 {
		to.File(fmt.Sprintf("d%d/f%d", i%7, i), treetest.Bytes(uint64(i), 5000))
	}
	var prints [2]string
	for i, name := range []string{"sender", "receiver"} {
		identity, err := link.LoadIdentity(filepath.Join(dir, name))
		to.Must(err)
		prints[i] = string(identity.Fingerprint)
	}
	atSender, atReceiver := loopback.AddressFor(t), loopback.AddressFor(t)
	ctx, end := context.WithCancel(t.Context())
	defer end()
	go relayBetween(ctx, atSender, atReceiver, []int64{500, 3000, 20_000, 100_000, 1 << 20, 2 << 20})
	var sendLog, receiveLog bytes.Buffer
	sent := make(chan int, 1)
	go func() {
		sent <- run(ctx, []string{"send", "--root", source, "--relay", atSender, "--identity", dir + "/sender", "--peer", prints[1], "--termination-log", dir + "/sent", "--patience", "1m"}, noEnv, streams{&bytes.Buffer{}, &sendLog})
	}()
	code := run(ctx, []string{"receive", "--root", destination, "--listen", atReceiver, "--identity", dir + "/receiver", "--peer", prints[0], "--termination-log", dir + "/received", "--patience", "1m"}, noEnv, streams{&bytes.Buffer{}, &receiveLog})
	if other := <-sent; code != exitDone || other != exitDone {
		t.Fatalf("codes %d and %d\n%s\n%s", code, other, &receiveLog, &sendLog)
	}
	treetest.Same(t, source, destination)
}
