package cluster

import (
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"

	"k8s.io/client-go/util/keyutil"
)

// TestPKI: a user of the authority and the servers of the cluster accept each other, and the servers see the user's
// name and groups. The key file of service accounts also verifies their tokens.
func TestPKI(t *testing.T) {
	dir := t.TempDir()
	ca, err := writePKI(dir, "east")
	if err != nil {
		t.Fatal(err)
	}
	if keys, err := keyutil.PublicKeysFromFile(filepath.Join(dir, accountKeyFile)); err != nil || len(keys) != 1 {
		t.Errorf("%d public keys of service accounts, %v", len(keys), err)
	}
	serving, err := tls.LoadX509KeyPair(filepath.Join(dir, servingFile), filepath.Join(dir, servingKeyFile))
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(ca.certPEM) {
		t.Fatal("the authority's file has no certificate")
	}
	var seen *x509.Certificate
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { seen = r.TLS.PeerCertificates[0] }))
	server.TLS = &tls.Config{Certificates: []tls.Certificate{serving}, ClientCAs: roots, ClientAuth: tls.RequireAndVerifyClientCert, MinVersion: tls.VersionTLS12}
	server.StartTLS()
	defer server.Close()
	pair, err := ca.client("jane", "readers", "writers")
	if err != nil {
		t.Fatal(err)
	}
	user, err := tls.X509KeyPair(pair.cert, pair.key)
	if err != nil {
		t.Fatal(err)
	}
	client := http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, Certificates: []tls.Certificate{user}, MinVersion: tls.VersionTLS12}}}
	response, err := client.Get("https://" + server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	if seen.Subject.CommonName != "jane" || len(seen.Subject.Organization) != 2 {
		t.Errorf("the server saw %s", seen.Subject)
	}
	if err := serving.Leaf.VerifyHostname("kubernetes.default.svc"); err != nil {
		t.Error(err)
	}
}
