package cluster

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"

	"k8s.io/utils/clock"
)

// keyPair is a certificate and its private key, both PEM.
type keyPair struct {
	cert, key []byte
}

// authority is the certificate authority of one cluster.
type authority struct {
	cert    *x509.Certificate
	key     *ecdsa.PrivateKey
	certPEM []byte
}

func newAuthority(cluster string) (*authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template, err := certTemplate(pkix.Name{CommonName: "sliceshift cluster " + cluster})
	if err != nil {
		return nil, err
	}
	template.IsCA = true
	template.BasicConstraintsValid = true
	template.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, err
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, err
	}
	return &authority{cert: cert, key: key, certPEM: encodePEM("CERTIFICATE", der)}, nil
}

// serving issues the certificate of all servers of the cluster.
func (a *authority) serving() (keyPair, error) {
	template, err := certTemplate(pkix.Name{CommonName: "kube-apiserver"})
	if err != nil {
		return keyPair{}, err
	}
	template.KeyUsage = x509.KeyUsageDigitalSignature
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	template.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1), net.ParseIP(firstServiceIP)}
	template.DNSNames = []string{
		"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local",
	}
	return a.issue(template)
}

// client issues the certificate of a user. kube-apiserver reads the common name as the user and the organizations as
// the groups.
func (a *authority) client(user string, groups ...string) (keyPair, error) {
	template, err := certTemplate(pkix.Name{CommonName: user, Organization: groups})
	if err != nil {
		return keyPair{}, err
	}
	template.KeyUsage = x509.KeyUsageDigitalSignature
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	return a.issue(template)
}

func (a *authority) issue(template *x509.Certificate) (keyPair, error) {
	key, keyPEM, err := newKey()
	if err != nil {
		return keyPair{}, err
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, key.Public(), a.key)
	if err != nil {
		return keyPair{}, err
	}
	return keyPair{cert: encodePEM("CERTIFICATE", der), key: keyPEM}, nil
}

func certTemplate(subject pkix.Name) (*x509.Certificate, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, err
	}
	now := clock.RealClock{}.Now()
	return &x509.Certificate{
		SerialNumber: serial,
		Subject:      subject,
		NotBefore:    now.Add(-time.Hour),
		NotAfter:     now.AddDate(1, 0, 0),
	}, nil
}

// newServiceAccountKeys generates the key pair that signs and verifies the tokens of service accounts; cert holds the
// public key.
func newServiceAccountKeys() (keyPair, error) {
	key, private, err := newKey()
	if err != nil {
		return keyPair{}, err
	}
	public, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		return keyPair{}, err
	}
	return keyPair{cert: encodePEM("PUBLIC KEY", public), key: private}, nil
}

// newKey generates a private key and returns it with its PEM encoding.
func newKey() (*ecdsa.PrivateKey, []byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	der, err := x509.MarshalECPrivateKey(key)
	return key, encodePEM("EC PRIVATE KEY", der), err
}

func encodePEM(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}

// writePKI creates the cluster's authority and writes the files that the roles' flags name.
func writePKI(dir, cluster string) (*authority, error) {
	ca, err := newAuthority(cluster)
	if err != nil {
		return nil, fmt.Errorf("make the authority: %w", err)
	}
	serving, err := ca.serving()
	if err != nil {
		return nil, fmt.Errorf("issue the serving certificate: %w", err)
	}
	accounts, err := newServiceAccountKeys()
	if err != nil {
		return nil, fmt.Errorf("make the keys for service accounts: %w", err)
	}
	for name, content := range map[string][]byte{
		caFile:         ca.certPEM,
		servingFile:    serving.cert,
		servingKeyFile: serving.key,
		accountFile:    accounts.cert,
		accountKeyFile: accounts.key,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			return nil, err
		}
	}
	return ca, nil
}
