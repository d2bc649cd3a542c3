package kubeconfig

import (
	"testing"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/sliceshift/sliceshift/internal/certtest"
)

// Secrets of the tests, which must not appear in any error.
const (
	secretToken    = "SecretTokenOfTheTest"
	secretPassword = "SecretPasswordOfTheTest"
)

// pair is a self-signed certificate and its key, in PEM.
type pair struct{ cert, key []byte }

func newPair(t testing.TB) pair {
	t.Helper()
	cert, key := certtest.SelfSigned(t)
	return pair{cert, key}
}

// kubeconfig returns a valid kubeconfig with a change.
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
