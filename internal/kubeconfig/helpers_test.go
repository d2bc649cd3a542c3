package kubeconfig

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"testing"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// Secrets of the tests: no error may hold them.
const (
	secretToken    = "SecretTokenOfTheTest"
	secretPassword = "SecretPasswordOfTheTest"
)

// pair is a self-signed certificate and its key, in PEM.
type pair struct{ cert, key []byte }

func newPair(t testing.TB) pair {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IsCA: true}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return pair{
		cert: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert}),
		key:  pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}),
	}
}

// kubeconfig writes a good kubeconfig, changed.
func (p pair) kubeconfig(t testing.TB, edit change) []byte {
	t.Helper()
	cluster := &clientcmdapi.Cluster{Server: "https://api.east:6443", CertificateAuthorityData: p.cert}
	user := &clientcmdapi.AuthInfo{Token: secretToken}
	config := &clientcmdapi.Config{
		Clusters:       map[string]*clientcmdapi.Cluster{"east": cluster},
		AuthInfos:      map[string]*clientcmdapi.AuthInfo{"mover": user},
		Contexts:       map[string]*clientcmdapi.Context{"mover@east": {Cluster: "east", AuthInfo: "mover"}},
		CurrentContext: "mover@east",
	}
	edit(cluster, user, config)
	data, err := clientcmd.Write(*config)
	if err != nil {
		t.Fatal(err)
	}
	return data
}
