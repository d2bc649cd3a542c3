package mover

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/sliceshift/sliceshift/mover/link"
)

var peaks sync.Mutex

// tunnel returns a TLS connection between two ends in this process.
func tunnel(ctx context.Context) (here, there net.Conn, err error) {
	one, err := link.NewIdentity()
	if err != nil {
		return nil, nil, err
	}
	two, err := link.NewIdentity()
	if err != nil {
		return nil, nil, err
	}
	l, err := link.Listen("127.0.0.1:0", one, two.Fingerprint, nil)
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = l.Close() }()
	here, err = link.Dialer{Address: l.Address(), Identity: two, Peer: one.Fingerprint}.Connect(ctx)
	if err != nil {
		return nil, nil, err
	}
	there, err = l.Connect(ctx)
	return here, there, err
}

// rsync runs a client, a TLS connection and a daemon.
func rsync(ctx context.Context, source, destination string) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	dir, err := os.MkdirTemp("", "bench-copy-rsync-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	config := filepath.Join(dir, "rsyncd.conf")
	text := fmt.Sprintf("use chroot = no\nuid = 0\ngid = 0\npid file = %s/pid\n[to]\npath = %s\nread only = no\n", dir, destination)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		return err
	}
	outer, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	defer func() { _ = outer.Close() }()
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return serveRsync(ctx, outer, config) })
	group.Go(func() error {
		client := exec.CommandContext(ctx, "rsync", "-aAXHS", "--numeric-ids", "--modify-window=-1", source+"/", "rsync://"+outer.Addr().String()+"/to/")
		out, err := client.CombinedOutput()
		if err != nil {
			return fmt.Errorf("rsync: %w: %s", err, out)
		}
		return nil
	})
	return group.Wait()
}

// serveRsync accepts one client, and connects it over TLS to a daemon that communicates over its standard input. rsync
// supports that if the input is a socket.
func serveRsync(ctx context.Context, outer net.Listener, config string) error {
	client, err := outer.Accept()
	if err != nil {
		return err
	}
	here, there, err := tunnel(ctx)
	if err != nil {
		return err
	}
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	defer func() { _ = inner.Close() }()
	local, err := net.Dial("tcp", inner.Addr().String())
	if err != nil {
		return err
	}
	served, err := inner.Accept()
	if err != nil {
		return err
	}
	tcp, ok := served.(*net.TCPConn)
	if !ok {
		return errors.New("no TCP connection")
	}
	socket, err := tcp.File()
	if err != nil {
		return err
	}
	daemon := exec.CommandContext(ctx, "rsync", "--daemon", "--config", config)
	var complaints strings.Builder
	daemon.Stdin, daemon.Stdout, daemon.Stderr = socket, socket, &complaints
	if err := daemon.Start(); err != nil {
		return err
	}
	_ = errors.Join(socket.Close(), served.Close())
	var pipes sync.WaitGroup
	for _, way := range [][2]net.Conn{{client, here}, {here, client}, {there, local}, {local, there}} {
		pipes.Go(func() {
			_, _ = io.Copy(way[0], way[1])
			_ = way[0].Close()
		})
	}
	err = daemon.Wait()
	_ = errors.Join(local.Close(), there.Close(), here.Close(), client.Close())
	pipes.Wait()
	if err != nil {
		return fmt.Errorf("rsync's daemon: %w: %s", err, complaints.String())
	}
	return nil
}
