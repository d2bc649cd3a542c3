// Package loopback finds where a process of a test or of a bench can listen, also one that starts later, or again.
package loopback

import (
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"testing"
)

// ports are below those that a kernel gives to who asks for any port, and to outgoing connections: 32768 and above on
// Linux (net.ipv4.ip_local_port_range), 49152 and above elsewhere (RFC 6335). One of those can be gone before the process
// listens: a connection of anybody on this machine takes it, even one that was to lead to it.
var ports = struct{ first, count int }{20_000, 10_000}

// attempts are far more than a machine needs that has one port of ports free in ten.
const attempts = 200

// Address is one of the loopback interface that nobody listens on, and that no outgoing connection takes. Two callers get
// the same one in the same moment once in 10,000 times. It is an error if none is found.
func Address() (string, error) {
	var err error
	for range attempts {
		address := net.JoinHostPort("127.0.0.1", strconv.Itoa(ports.first+rand.IntN(ports.count)))
		var listener net.Listener
		if listener, err = net.Listen("tcp", address); err == nil {
			return address, listener.Close()
		}
	}
	return "", fmt.Errorf("no port of the loopback interface is free from %d to %d; see what listens there (ss -ltn): %w", ports.first, ports.first+ports.count-1, err)
}

// AddressFor is Address for a test, which ends if there is none.
func AddressFor(t testing.TB) string {
	t.Helper()
	address, err := Address()
	if err != nil {
		t.Fatal(err)
	}
	return address
}
