package disk

import (
	"net/netip"
	"path"
	"strings"
)

// mayBeOne reports whether two hosts may be the same: equal names, a name and an address, or a short name and its long form.
// It cannot detect that one host has two names or two addresses.
func mayBeOne(a, b string) bool {
	if a == b || a == "" || b == "" {
		return true
	}
	_, noName := netip.ParseAddr(a)
	_, noNameEither := netip.ParseAddr(b)
	if isAddress, isAddressToo := noName == nil, noNameEither == nil; isAddress || isAddressToo {
		return isAddress != isAddressToo
	}
	return strings.HasPrefix(a, b+".") || strings.HasPrefix(b, a+".")
}

// host returns a normalized host name or address.
func host(name string) string {
	name = strings.TrimSuffix(strings.Trim(strings.ToLower(strings.TrimSpace(name)), "[]"), ".")
	if address, err := netip.ParseAddr(name); err == nil {
		return address.Unmap().String()
	}
	return name
}

// folder returns a normalized path.
func folder(parts ...string) string { return path.Clean("/" + path.Join(parts...)) }
