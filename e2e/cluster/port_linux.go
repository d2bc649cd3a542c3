package cluster

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// port is a TCP port of the loopback address. It belongs to one cluster from the cluster's start to its end, also
// while the role that serves it is down.
//
// The kernel keeps the reservation: a socket that is bound but never listens. It shares the port (SO_REUSEPORT), and
// so do the roles (their flag --permit-port-sharing), so that a role can listen on it too. No other process can: the
// kernel assigns a shared port neither to a bind without a port nor to an outgoing connection. As our socket never
// listens, a client of a role that is down gets "connection refused", as it should.
type port struct {
	number int
	socket int
}

func reservePort() (port, error) {
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return port{}, fmt.Errorf("reserve a port: %w", err)
	}
	number, err := bindFree(socket)
	if err != nil {
		unix.Close(socket)
		return port{}, fmt.Errorf("reserve a port: %w", err)
	}
	return port{number: number, socket: socket}, nil
}

func bindFree(socket int) (int, error) {
	if err := unix.SetsockoptInt(socket, unix.SOL_SOCKET, unix.SO_REUSEPORT, 1); err != nil {
		return 0, err
	}
	if err := unix.Bind(socket, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		return 0, err
	}
	address, err := unix.Getsockname(socket)
	if err != nil {
		return 0, err
	}
	inet, ok := address.(*unix.SockaddrInet4)
	if !ok {
		return 0, fmt.Errorf("unexpected address %T", address)
	}
	return inet.Port, nil
}

func (p port) release() {
	unix.Close(p.socket)
}

// reservePorts reserves a port for each role that serves TCP: etcd is on a unix socket and kwok serves nothing. If it
// fails, it returns the ports that it has reserved until then.
func reservePorts() (map[Role]port, error) {
	ports := map[Role]port{}
	for _, role := range []Role{APIServer, ControllerManager, Scheduler} {
		p, err := reservePort()
		if err != nil {
			return ports, err
		}
		ports[role] = p
	}
	return ports, nil
}
