package cluster

import (
	"context"
	"errors"
	"net"
	"strconv"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

func shared(_, _ string, conn syscall.RawConn) error {
	var err error
	return errors.Join(conn.Control(func(fd uintptr) {
		err = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_REUSEPORT, 1)
	}), err)
}

func TestReservedPort(t *testing.T) {
	p, err := reservePort()
	if err != nil {
		t.Fatal(err)
	}
	defer p.release()
	address := net.JoinHostPort("127.0.0.1", strconv.Itoa(p.number))

	if conn, err := net.Dial("tcp", address); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("dial while the role is down: %v, %v; want connection refused", conn, err)
	}
	if _, err := net.Listen("tcp", address); !errors.Is(err, syscall.EADDRINUSE) {
		t.Errorf("a stranger listens: %v, want address already in use", err)
	}
	config := net.ListenConfig{Control: shared}
	for range 2 { // the role starts, and starts again
		listener, err := config.Listen(context.Background(), "tcp", address)
		if err != nil {
			t.Fatalf("the role listens: %v", err)
		}
		conn, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatalf("dial the role: %v", err)
		}
		conn.Close()
		listener.Close()
	}
}

func TestReservedPortsDiffer(t *testing.T) {
	seen := map[int]bool{}
	for range 500 {
		p, err := reservePort()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(p.release)
		if seen[p.number] {
			t.Fatalf("port %d was given out twice", p.number)
		}
		seen[p.number] = true
	}
}
