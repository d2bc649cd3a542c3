package loopback

import (
	"net"
	"strconv"
	"strings"
	"testing"
)

// TestAddress: the address can be listened on, and its port is outside the ephemeral range.
func TestAddress(t *testing.T) {
	for range 100 {
		address := AddressFor(t)
		_, text, err := net.SplitHostPort(address)
		if err != nil {
			t.Fatal(err)
		}
		if port, err := strconv.Atoi(text); err != nil || port < 20_000 || port >= 30_000 {
			t.Errorf("port %s, %v", text, err)
		}
		listener, err := net.Listen("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		listener.Close()
	}
}

// TestAddressTaken: a port in use is not returned.
func TestAddressTaken(t *testing.T) {
	taken := AddressFor(t)
	listener, err := net.Listen("tcp", taken)
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	all := ports
	defer func() { ports = all }()
	ports.first, ports.count = listener.Addr().(*net.TCPAddr).Port, 1
	if got, err := Address(); err == nil || !strings.Contains(err.Error(), "ss -ltn") {
		t.Errorf("got %q, %v", got, err)
	}
}
