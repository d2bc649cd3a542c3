package kubeconfig

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"syscall"
	"time"
)

// metadata are the addresses of clouds' metadata services that are not link-local.
var metadata = map[netip.Addr]bool{
	netip.MustParseAddr("100.100.100.200"):    true, // Alibaba
	netip.MustParseAddr("168.63.129.16"):      true, // Azure
	netip.MustParseAddr("fd20:ce::254"):       true, // Google
	netip.MustParseAddr("192.0.0.192"):        true, // Oracle
	netip.MustParseAddr("fd00:c1::a9fe:a9fe"): true, // Oracle
	netip.MustParseAddr("fd00:42::42"):        true, // Scaleway
}

// amazon is the range of Amazon's metadata service and of its pod credentials.
var amazon = netip.MustParsePrefix("fd00:ec2::/32")

// Prefixes of IPv6 addresses that embed an IPv4 address, in the last four bytes or after the prefix.
var (
	lastBytes = []netip.Prefix{
		netip.MustParsePrefix("64:ff9b::/96"),    // NAT64 (RFC 6052)
		netip.MustParsePrefix("64:ff9b:1::/48"),  // NAT64 within a network (RFC 8215)
		netip.MustParsePrefix("::ffff:0:0:0/96"), // SIIT (RFC 7915)
		netip.MustParsePrefix("::/96"),           // IPv4-compatible (RFC 4291, 2.5.5.1)
	}
	sixToFour = netip.MustParsePrefix("2002::/16") // RFC 3056
)

// local reports whether a host is the machine itself or a metadata service. It does not resolve names, because they may
// resolve differently later: see dialOutside.
func local(host string) bool {
	if host == "localhost" || strings.HasSuffix(host, ".localhost") || host == "localhost.localdomain" {
		return true
	}
	ip, err := netip.ParseAddr(host)
	if err != nil {
		return allNumeric(host)
	}
	return localAddress(ip)
}

// localAddress reports whether an address is loopback, unspecified (which connects to loopback), link-local (where most
// clouds have their metadata services), or listed in metadata.
func localAddress(ip netip.Addr) bool {
	ip = ip.Unmap().WithZone("")
	return notForOthers(ip) || notForOthers(embedded(ip))
}

func notForOthers(ip netip.Addr) bool {
	return ip.IsLoopback() || ip.IsUnspecified() || ip.IsLinkLocalUnicast() || metadata[ip] || amazon.Contains(ip)
}

// embedded returns the embedded IPv4 address of an IPv6 address, or the address itself.
func embedded(ip netip.Addr) netip.Addr {
	bytes := ip.As16()
	if sixToFour.Contains(ip) {
		return netip.AddrFrom4([4]byte(bytes[2:6]))
	}
	for _, prefix := range lastBytes {
		if prefix.Contains(ip) {
			return netip.AddrFrom4([4]byte(bytes[12:]))
		}
	}
	return ip
}

// allNumeric reports whether a host is a short or hexadecimal form of an IPv4 address, such as 127.1 or 0x7f000001. Some
// resolvers accept these forms, so they are refused.
func allNumeric(host string) bool {
	last := host[strings.LastIndexByte(host, '.')+1:]
	return last != "" && strings.Trim(last, "0123456789") == "" || strings.HasPrefix(last, "0x")
}

// The values of client-go.
const dialTimeout, keepAlive = 30 * time.Second, 30 * time.Second

// dialOutside refuses to connect to local addresses, after the name was resolved. The author of the kubeconfig may control
// the name's DNS servers.
func dialOutside(ctx context.Context, network, address string) (net.Conn, error) {
	dialer := &net.Dialer{Timeout: dialTimeout, KeepAlive: keepAlive, Control: refuseLocal}
	return dialer.DialContext(ctx, network, address)
}

// refuseLocal is called with the resolved address, before data is sent.
func refuseLocal(_, address string, _ syscall.RawConn) error {
	to, err := netip.ParseAddrPort(address)
	if err != nil {
		return err
	}
	if localAddress(to.Addr()) {
		return fmt.Errorf("%s %s", to.Addr(), isLocal)
	}
	return nil
}
