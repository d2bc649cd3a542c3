package kubeconfig

import (
	"net"
	"net/http"
	"strings"

	"k8s.io/utils/clock"
)

// Outside keeps a transport to addresses that are not of the manager's own machine nor of a cloud's
// metadata service, whatever names lead there: as it is kept for kubeconfigs.
func Outside(transport *http.Transport) {
	transport.DialContext = dialOutside
	transport.Proxy = proxyOutside(transport.Proxy, net.DefaultResolver.LookupNetIP, clock.RealClock{})
}

// Local says whether a host, as it is written, is such an address. A name is judged when it is connected
// to: see Outside.
func Local(host string) bool { return local(strings.ToLower(strings.TrimSuffix(host, "."))) }
