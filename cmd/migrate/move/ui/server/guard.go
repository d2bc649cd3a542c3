package server

import (
	"crypto/subtle"
	"net"
	"net/http"
	"strings"
)

// contentPolicy lets a page load only files of this server, and forbids frames. The only text that becomes elements is
// the timeline of a report, by the Trusted Types policy of that name.
const contentPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types timeline"

// guard rejects requests that come neither from a page of this server nor from a user who typed its address.
//
// A host name that resolves here but is not this machine's own belongs to an attacker whose page was rebound to this
// address (DNS rebinding). Another origin, including another port of this machine, belongs to another program.
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

// onThisMachine returns why a request is not from a page of this machine, or an empty string if it is allowed.
func onThisMachine(r *http.Request) string {
	if !loopback(r.Host) {
		return "this server answers to 127.0.0.1, [::1] and localhost only: open the address that the command has printed"
	}
	if navigates(r, "/api/") {
		return ""
	}
	return elsewhere(r, "http://"+r.Host)
}

// navigates reports whether a browser opens a file of the page, by a link or a redirect. These files contain no data of
// a cluster.
func navigates(r *http.Request, api string) bool {
	return r.Method == http.MethodGet && r.Header.Get("Sec-Fetch-Mode") == "navigate" && !strings.HasPrefix(r.URL.Path, api)
}

// elsewhere returns why a request is not from a page of the origin, or an empty string if it is allowed.
func elsewhere(r *http.Request, own string) string {
	if site := r.Header.Get("Sec-Fetch-Site"); site != "" && site != "same-origin" && site != "none" {
		return "another page asks for this one: type its address, or paste it"
	}
	if origin := r.Header.Get("Origin"); origin != "" && origin != own {
		return "another origin asks for this page: a proxy in front of it must leave the header Host as it is"
	}
	return ""
}

// loopback reports whether a host is this machine. It ignores the port, which may be forwarded.
func loopback(host string) bool {
	name, _, err := net.SplitHostPort(host)
	if err != nil {
		name = strings.Trim(host, "[]")
	}
	return name == "127.0.0.1" || name == "::1" || name == "localhost"
}

// bearer returns the token of a request, or an empty string.
func bearer(r *http.Request) string {
	given, found := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !found {
		return ""
	}
	return given
}

// authorized rejects a request without the token of this process.
func (s *Server) authorized(next http.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if subtle.ConstantTimeCompare([]byte(bearer(r)), []byte(s.token)) != 1 {
			fail(w, http.StatusUnauthorized, "the token is missing, or it is of a process that has ended: open the address that the command has printed")
			return
		}
		next(w, r)
	})
}
