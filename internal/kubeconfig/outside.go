package kubeconfig

import (
	"net"
	"net/http"
	"strings"

	"k8s.io/utils/clock"
)

// Outside prevents a transport from connecting to the manager's own machine or a cloud's metadata service, for all names
// that resolve to them. Kubeconfigs have the same restriction.
func Outside(transport *http.Transport) {
	transport.DialContext = dialOutside
	transport.Proxy = proxyOutside(transport.Proxy, net.DefaultResolver.LookupNetIP, clock.RealClock{})
}

// Local reports whether a literal host is such an address. A name is checked only at connect time: see Outside.
func Local(host string) bool { return local(strings.ToLower(strings.TrimSuffix(host, "."))) }
