package cluster

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	certutil "k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"
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
	cert, err := certutil.NewSelfSignedCACert(certutil.Config{CommonName: "sliceshift-cluster-" + cluster}, key)
	if err != nil {
		return nil, err
	}
	text, err := certutil.EncodeCertificates(cert)
	return &authority{cert: cert, key: key, certPEM: text}, err
}

// serving issues the certificate of all servers of the cluster.
func (a *authority) serving() (keyPair, error) {
	return a.issue(&x509.Certificate{
		Subject: pkix.Name{CommonName: "kube-apiserver"}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1), net.ParseIP(firstServiceIP)},
		DNSNames:    []string{"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local"},
	})
}

// client issues the certificate of a user. kube-apiserver reads the common name as the user and the organizations as
// the groups.
func (a *authority) client(user string, groups ...string) (keyPair, error) {
	return a.issue(&x509.Certificate{
		Subject: pkix.Name{CommonName: user, Organization: groups}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	})
}

// issue signs a certificate that is valid for a year. crypto/x509 chooses its serial number.
func (a *authority) issue(template *x509.Certificate) (keyPair, error) {
	now := clock.RealClock{}.Now()
	template.NotBefore, template.NotAfter, template.KeyUsage = now.Add(-time.Hour), now.AddDate(1, 0, 0), x509.KeyUsageDigitalSignature
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return keyPair{}, err
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, key.Public(), a.key)
	if err != nil {
		return keyPair{}, err
	}
	text, err := keyutil.MarshalPrivateKeyToPEM(key)
	return keyPair{cert: pem.EncodeToMemory(&pem.Block{Type: certutil.CertificateBlockType, Bytes: der}), key: text}, err
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
	accounts, err := keyutil.MakeEllipticPrivateKeyPEM()
	if err != nil {
		return nil, fmt.Errorf("make the key for service accounts: %w", err)
	}
	for name, content := range map[string][]byte{caFile: ca.certPEM, servingFile: serving.cert, servingKeyFile: serving.key, accountKeyFile: accounts} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			return nil, err
		}
	}
	return ca, nil
}

const (
	adminUser  = "admin"
	adminGroup = "system:masters"
)

// Kubeconfig returns the path of the administrator's kubeconfig. Its context
// is named after the cluster, so that the files of several clusters merge.
func (c *Cluster) Kubeconfig() string {
	return c.kubeconfigPath(adminUser)
}

// RESTConfig returns the administrator's client configuration, without any
// limit on the client's side.
func (c *Cluster) RESTConfig() *rest.Config {
	return rest.CopyConfig(c.config)
}

// UserKubeconfig writes a kubeconfig with a client certificate for another user, with only the rights that RBAC grants
// to that user and these groups. Several goroutines may call it for one user: a reader of the file never finds it half
// written.
func (c *Cluster) UserKubeconfig(user string, groups ...string) (string, error) {
	pair, err := c.ca.client(user, groups...)
	if err != nil {
		return "", fmt.Errorf("cluster %s: certificate of user %s: %w", c.Name(), user, err)
	}
	config := clientcmdapi.NewConfig()
	config.Clusters[c.Name()] = &clientcmdapi.Cluster{
		Server:                   c.server(),
		CertificateAuthorityData: c.ca.certPEM,
	}
	name := c.Name() + "-" + user
	config.AuthInfos[name] = &clientcmdapi.AuthInfo{
		ClientCertificateData: pair.cert,
		ClientKeyData:         pair.key,
	}
	config.Contexts[c.Name()] = &clientcmdapi.Context{Cluster: c.Name(), AuthInfo: name}
	config.CurrentContext = c.Name()
	path := c.kubeconfigPath(user)
	if err := replaceKubeconfig(*config, path); err != nil {
		return "", fmt.Errorf("cluster %s: kubeconfig of user %s: %w", c.Name(), user, err)
	}
	return path, nil
}

// replaceKubeconfig replaces the file atomically: parallel tests request the same user, and a test may read the file
// while another writes it.
func replaceKubeconfig(config clientcmdapi.Config, path string) error {
	partial, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	if err := errors.Join(partial.Close(), clientcmd.WriteToFile(config, partial.Name())); err != nil {
		return err
	}
	return os.Rename(partial.Name(), path)
}

// kubeconfigPath replaces the characters of a user's name that are unsafe in a path.
func (c *Cluster) kubeconfigPath(user string) string {
	safe := []rune(user)
	for i, r := range safe {
		if r == filepath.Separator || r == ':' {
			safe[i] = '_'
		}
	}
	return filepath.Join(c.dir, string(safe)+".kubeconfig")
}

func (c *Cluster) server() string {
	return fmt.Sprintf("https://127.0.0.1:%d", c.ports[APIServer].number)
}

// writeKubeconfigs writes the kubeconfigs of the administrator and of the roles, and loads the administrator's. The
// roles are members of system:masters. The alternative, one service account for each controller, costs a token request
// for each of them at every start.
func (c *Cluster) writeKubeconfigs() error {
	for _, user := range []string{adminUser, roleUser(ControllerManager), roleUser(Scheduler), roleUser(Kwok)} {
		if _, err := c.UserKubeconfig(user, adminGroup); err != nil {
			return err
		}
	}
	config, err := clientcmd.BuildConfigFromFlags("", c.Kubeconfig())
	if err != nil {
		return fmt.Errorf("cluster %s: %w", c.Name(), err)
	}
	config.QPS = -1
	c.config = config
	return nil
}

// roleUser returns the user name of a role's requests to the apiserver.
func roleUser(role Role) string {
	return "system:" + string(role)
}

// Kubectl prepares a run of the kubectl inside the control plane binary. Its caches are next to the kubeconfig and are
// removed with the cluster.
func Kubectl(ctx context.Context, binary, kubeconfig string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, binary, append([]string{"kubectl", "--kubeconfig=" + kubeconfig}, args...)...)
	cmd.Env = append(os.Environ(), "KUBECACHEDIR="+filepath.Join(filepath.Dir(kubeconfig), "kubectl-cache"))
	return cmd
}

// Kubectl prepares a run of kubectl as the administrator of the cluster.
func (c *Cluster) Kubectl(ctx context.Context, args ...string) *exec.Cmd {
	return Kubectl(ctx, c.options.Binary, c.Kubeconfig(), args...)
}
