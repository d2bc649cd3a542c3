package server

import (
	"crypto/subtle"
	"net"
	"net/http"
	"strings"
)

// contentPolicy lets a page load what this server has, and nothing else; nobody may show it in a frame. The only
// text that becomes elements is the timeline of a report, by the policy of that name.
const contentPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types timeline"

// guard refuses what does not come from a page of this server, or from a person who types its address.
//
// A name that leads here and is not this machine's own is an attacker's, whose page has been rebound to this address
// (DNS rebinding). Another origin, also another port of this machine, is another program's.
func guard(next http.Handler, stranger func(*http.Request) string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		head := w.Header()
		head.Set("Content-Security-Policy", contentPolicy)
		head.Set("Cache-Control", "no-store")
		head.Set("X-Content-Type-Options", "nosniff")
		head.Set("X-Frame-Options", "DENY")
		head.Set("Referrer-Policy", "no-referrer")
		head.Set("Cross-Origin-Opener-Policy", "same-origin")
		head.Set("Cross-Origin-Resource-Policy", "same-origin")
		if why := stranger(r); why != "" {
			fail(w, http.StatusForbidden, why)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// onThisMachine is why a request is not one of a page of this machine; empty: it may be.
func onThisMachine(r *http.Request) string {
	if !loopback(r.Host) {
		return "this server answers to 127.0.0.1, [::1] and localhost only: open the address that the command has printed"
	}
	if navigates(r, "/api/") {
		return ""
	}
	return elsewhere(r, "http://"+r.Host)
}

// navigates reports whether a browser goes to a file of the page, as from a link or a page that redirects. These files show
// nothing of a cluster.
func navigates(r *http.Request, api string) bool {
	return r.Method == http.MethodGet && r.Header.Get("Sec-Fetch-Mode") == "navigate" && !strings.HasPrefix(r.URL.Path, api)
}

// elsewhere is why a request is not one of a page of an origin; empty: it may be.
func elsewhere(r *http.Request, own string) string {
	if site := r.Header.Get("Sec-Fetch-Site"); site != "" && site != "same-origin" && site != "none" {
		return "another page asks for this one: type its address, or paste it"
	}
	if origin := r.Header.Get("Origin"); origin != "" && origin != own {
		return "another origin asks for this page: a proxy in front of it must leave the header Host as it is"
	}
	return ""
}

// loopback says whether a host is this machine's own, whatever its port: it may have been forwarded.
func loopback(host string) bool {
	name, _, err := net.SplitHostPort(host)
	if err != nil {
		name = strings.Trim(host, "[]")
	}
	return name == "127.0.0.1" || name == "::1" || name == "localhost"
}

// bearer is the token of a request; empty: it has none.
func bearer(r *http.Request) string {
	given, found := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !found {
		return ""
	}
	return given
}

// authorized refuses a request without the token of this process.
func (s *Server) authorized(next http.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if subtle.ConstantTimeCompare([]byte(bearer(r)), []byte(s.token)) != 1 {
			fail(w, http.StatusUnauthorized, "the token is missing, or it is of a process that has ended: open the address that the command has printed")
			return
		}
		next(w, r)
	})
}
