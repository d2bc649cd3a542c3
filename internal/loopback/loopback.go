// Package loopback finds addresses where a process of a test or benchmark can listen, now or later.
package loopback

import (
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"testing"
)

// ports is below the ephemeral range of the kernel: 32768 and above on Linux (net.ipv4.ip_local_port_range), 49152 and above
// elsewhere (RFC 6335). Any outgoing connection on the machine could take an ephemeral port before the process listens, even
// a connection to that process.
var ports = struct{ first, count int }{20_000, 10_000}

// attempts is far more than needed if one port in ten is free.
const attempts = 200

// Address returns a loopback address that is not in use and that no outgoing connection takes. Two concurrent callers get
// the same address once in 10,000 times. It returns an error if none is free.
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

// AddressFor is Address for a test. The test fails if none is free.
func AddressFor(t testing.TB) string {
	t.Helper()
	address, err := Address()
	if err != nil {
		t.Fatal(err)
	}
	return address
}
