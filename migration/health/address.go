package health

import (
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/internal/kubeconfig"
)

// Addresses restricts the Prometheus servers that gates may query and the applications that probes may request.
// The requests come from the manager's network, to an address that the author of a Migration has chosen.
type Addresses struct {
	// Listed are the URLs that the operator of the manager allows, including everything below the path of each.
	// If it is empty, any https address is allowed except for the manager's own machine and cloud metadata
	// services, as with the servers of kubeconfigs.
	Listed []string
	// AllowLocal also allows unlisted addresses of the manager's own machine and of cloud metadata services.
	AllowLocal bool
	// Any allows everything. It is for a process that runs for its own user, with the user's rights and in the
	// user's network.
	Any bool
}

// Purpose describes the use of an address, for messages.
type Purpose struct {
	// Field is the field of the Migration that holds it, and Setting the manager's setting that lists the
	// allowed ones.
	Field, Setting string
	// User and Query are the remedies for a user name, and for a query or a fragment.
	User, Query string
}

// ofPrometheus returns the purpose of the address of a Prometheus server that a field of a Migration describes.
func ofPrometheus(field string) Purpose {
	return Purpose{
		Field: field + ".address", Setting: "gates.prometheus",
		User: "name a token in " + field + ".bearerTokenSecretRef", Query: "remove it, and write the query where queries are",
	}
}

// Allow parses an address and checks that it is allowed. judge reports whether its connections must be checked
// by the IP address that they connect to. The error is an *InvalidError.
func (a Addresses) Allow(of Purpose, address string) (u *url.URL, judge bool, err error) {
	u, err = url.Parse(address)
	switch {
	case err != nil || u.Host == "" || u.Opaque != "" || u.Scheme != "https" && u.Scheme != "http":
		return nil, false, refuse(api.ReasonGateInvalid, of.Field+" is no URL; set it to https://<host>:<port>/<path>")
	case u.User != nil:
		return nil, false, refuse(api.ReasonGateInvalid, fmt.Sprintf("%s holds a user name, which would end up in logs; %s", of.Field, of.User))
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "" || strings.Contains(address, "#"):
		return nil, false, refuse(api.ReasonGateInvalid, fmt.Sprintf("%s has a query or a fragment; %s", of.Field, of.Query))
	case !plain(u):
		return nil, false, refuse(api.ReasonGateInvalid, of.Field+" has an empty segment, a . or .., or a character that is hidden by a %; write the path without")
	case a.Any:
		return u, false, nil
	case len(a.Listed) > 0:
		if !slices.ContainsFunc(a.Listed, func(each string) bool { return within(u, each) }) {
			return nil, false, refuse(api.ReasonGateInvalid, fmt.Sprintf("%s is not an allowed address; the manager's operator can add it to %s, which has: %s", of.Field, of.Setting, strings.Join(a.Listed, ", ")))
		}
		return u, false, nil
	case u.Scheme == "http":
		return nil, false, refuse(api.ReasonGateInvalid, fmt.Sprintf("%s begins with http://, so its answers could be forged on the network; use its https address, or have the manager's operator add it to %s", of.Field, of.Setting))
	case !a.AllowLocal && kubeconfig.Local(u.Hostname()):
		return nil, false, refuse(api.ReasonGateInvalid, of.Field+" is an address of the manager's own host or of a cloud's metadata service, which a Migration may not use; set the server's address in the network")
	}
	return u, !a.AllowLocal, nil
}

// Transport returns a transport for the requests of gates and probes. It keeps no connections, because gates
// are short-lived and each one sends few requests. If judge is true, it refuses to connect to the manager's own
// machine or to a cloud metadata service, whatever name resolves to it.
func Transport(judge bool) *http.Transport {
	transport := &http.Transport{
		Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true, TLSHandshakeTimeout: handshake, MaxResponseHeaderBytes: maxResultHeader,
		TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12},
	}
	if judge {
		kubeconfig.Outside(transport)
	}
	return transport
}

// plain reports whether a path is in canonical form.
func plain(u *url.URL) bool {
	at := strings.TrimSuffix(u.Path, "/")
	return u.RawPath == "" && !strings.Contains(at, `\`) && (at == "" || path.Clean(at) == at)
}

// within reports whether a URL is a listed one or below its path.
func within(u *url.URL, listed string) bool {
	of, err := url.Parse(listed)
	if err != nil || u.Scheme != of.Scheme || origin(u) != origin(of) {
		return false
	}
	base := strings.TrimSuffix(of.Path, "/")
	return strings.TrimSuffix(u.Path, "/") == base || strings.HasPrefix(u.Path, base+"/")
}

// origin returns the host and port of a URL.
func origin(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return net.JoinHostPort(strings.ToLower(strings.TrimSuffix(u.Hostname(), ".")), port)
}
