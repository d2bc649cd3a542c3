package main

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/registry"
)

// registries lists the registries that the pages name.
var registries = []string{"ghcr.io", "registry.example.com"}

// world is where a release is published: a registry with all these names, reachable through a proxy.
type world struct {
	registry http.Handler
	// env makes programs use the proxy.
	env []string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	certificate, authority := certified(t)
	w := &world{registry: registry.New(registry.Logger(log.New(io.Discard, "", 0)))}
	server := httptest.NewUnstartedServer(w.registry)
	server.TLS = &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{certificate}}
	server.StartTLS()
	t.Cleanup(server.Close)
	proxy := httptest.NewServer(tunnel(server.Listener.Addr().String()))
	t.Cleanup(proxy.Close)
	w.env = []string{"HTTPS_PROXY=" + proxy.URL, "https_proxy=" + proxy.URL, "NO_PROXY=", "no_proxy=", "SSL_CERT_FILE=" + authority}
	return w
}

// certified returns a certificate of the registries, and the file that makes programs trust it.
func certified(t *testing.T) (tls.Certificate, string) {
	t.Helper()
	key := had(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), DNSNames: registries, NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	der := had(x509.CreateCertificate(rand.Reader, template, template, key.Public(), key))(t)
	authority := filepath.Join(t.TempDir(), "authority.pem")
	if err := os.WriteFile(authority, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, authority
}

// tunnel returns a proxy that connects the names of the registries to an address, and rejects other names.
func tunnel(address string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		host, port, err := net.SplitHostPort(r.Host)
		if r.Method != http.MethodConnect || err != nil || port != "443" || !slices.Contains(registries, host) {
			http.Error(w, "there is no way to "+r.Host, http.StatusForbidden)
			return
		}
		to, err := (&net.Dialer{}).DialContext(r.Context(), "tcp", address)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		defer to.Close()
		w.WriteHeader(http.StatusOK)
		from, buffered, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		defer from.Close()
		carry(from, buffered.Reader, to)
	}
}

// carry copies data in both directions until one end is closed.
func carry(from net.Conn, begun *bufio.Reader, to net.Conn) {
	ended := make(chan struct{})
	go func() {
		_, _ = io.Copy(to, begun) // the other end is closed
		_ = to.Close()
		close(ended)
	}()
	_, _ = io.Copy(from, to)
	_ = from.Close()
	<-ended
}

// pulled returns the content at a path below /v2/ of the registry, and its digest.
func (w *world) pulled(t *testing.T, path string) (data []byte, digest string) {
	t.Helper()
	answer := httptest.NewRecorder()
	w.registry.ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/v2/"+path, nil))
	if answer.Code != http.StatusOK {
		t.Fatalf("%s is not there: %d %s", path, answer.Code, answer.Body)
	}
	sum := sha256.Sum256(answer.Body.Bytes())
	return answer.Body.Bytes(), "sha256:" + hex.EncodeToString(sum[:])
}
