package disk

import (
	"net/netip"
	"path"
	"strings"
)

// mayBeOne says whether two hosts may be one: of the same name, of a name and an address, or of a short name and a long one.
// That one host has two names, or two addresses, is not known here.
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

// host is the name or the address of one, in one spelling.
func host(name string) string {
	name = strings.TrimSuffix(strings.Trim(strings.ToLower(strings.TrimSpace(name)), "[]"), ".")
	if address, err := netip.ParseAddr(name); err == nil {
		return address.Unmap().String()
	}
	return name
}

// folder is the path of one, in one spelling.
func folder(parts ...string) string { return path.Clean("/" + path.Join(parts...)) }
