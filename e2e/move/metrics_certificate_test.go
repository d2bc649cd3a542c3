package move

import (
	"crypto/tls"
	"crypto/x509"
	"os"
	"path/filepath"
	"testing"

	utilrand "k8s.io/apimachinery/pkg/util/rand"

	"github.com/sliceshift/sliceshift/e2e/harness"
	"github.com/sliceshift/sliceshift/internal/certtest"
	"github.com/sliceshift/sliceshift/internal/loopback"
)

// metricsName is the DNS name of the metrics server in docs/monitoring.md.
const metricsName = "sliceshift-manager-metrics.sliceshift-system.svc"

// TestMetricsCertificate: a client can verify the server before it sends its token (S8).
func TestMetricsCertificate(t *testing.T) {
	t.Parallel()
	dir, pool := newCertificate(t)
	address := loopback.AddressFor(t)
	m := harness.NewManager(t, "t-"+utilrand.String(8), "manager.log")
	m.Args = append(m.Args, "--metrics-bind-address", address, "--metrics-cert-dir", dir)
	m.Run()
	getMetrics(t, address, "") // it serves now
	for name, known := range map[string]*x509.CertPool{"the operator's": pool, "unknown": x509.NewCertPool()} {
		dialer := &tls.Dialer{Config: &tls.Config{RootCAs: known, ServerName: metricsName, MinVersion: tls.VersionTLS12}}
		conn, err := dialer.DialContext(t.Context(), "tcp", address)
		if verified := err == nil; verified != (known == pool) {
			t.Errorf("a certificate that is %s: %v", name, err)
		}
		if err == nil {
			_ = conn.Close() // the client has sent no data
		}
	}
}

// newCertificate returns a folder with a certificate for metricsName, and a pool that trusts it.
func newCertificate(t *testing.T) (string, *x509.CertPool) {
	t.Helper()
	cert, key := certtest.SelfSigned(t, metricsName)
	dir, pool := t.TempDir(), x509.NewCertPool()
	pool.AppendCertsFromPEM(cert)
	for name, data := range map[string][]byte{"tls.crt": cert, "tls.key": key} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir, pool
}
