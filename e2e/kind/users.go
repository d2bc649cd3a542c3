package kind

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"os"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// UserKubeconfig writes a file into dir by which a user of that name reaches the cluster. It signs a certificate for
// any requested user (certificates.k8s.io, signer kubernetes.io/kube-apiserver-client).
func (c *Cluster) UserKubeconfig(ctx context.Context, dir, user string, groups ...string) (string, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return "", err
	}
	private, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return "", err
	}
	request, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{Subject: pkix.Name{CommonName: user, Organization: groups}}, key)
	if err != nil {
		return "", err
	}
	certificate, err := c.sign(ctx, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: request}))
	if err != nil {
		return "", fmt.Errorf("cluster %s: certificate of user %s: %w", c.Name, user, err)
	}
	config := clientcmdapi.NewConfig()
	config.Clusters[c.Name] = &clientcmdapi.Cluster{Server: c.Config.Host, CertificateAuthorityData: c.Config.CAData}
	config.AuthInfos[c.Name] = &clientcmdapi.AuthInfo{
		ClientCertificateData: certificate, ClientKeyData: pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: private}),
	}
	config.Contexts[c.Name] = &clientcmdapi.Context{Cluster: c.Name, AuthInfo: c.Name}
	config.CurrentContext = c.Name
	file, err := os.CreateTemp(dir, c.Name+"-user-*.kubeconfig")
	if err != nil {
		return "", err
	}
	if err := file.Close(); err != nil {
		return "", err
	}
	return file.Name(), clientcmd.WriteToFile(*config, file.Name())
}

// sign lets the cluster sign a request for a client certificate.
func (c *Cluster) sign(ctx context.Context, request []byte) ([]byte, error) {
	requests := c.Client.CertificatesV1().CertificateSigningRequests()
	made, err := requests.Create(ctx, &certificatesv1.CertificateSigningRequest{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "e2e-"},
		Spec: certificatesv1.CertificateSigningRequestSpec{
			Request: request, SignerName: certificatesv1.KubeAPIServerClientSignerName, Usages: []certificatesv1.KeyUsage{certificatesv1.UsageClientAuth},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		return nil, err
	}
	made.Status.Conditions = append(made.Status.Conditions, certificatesv1.CertificateSigningRequestCondition{
		Type: certificatesv1.CertificateApproved, Status: corev1.ConditionTrue, Reason: "EndToEndTest",
	})
	if _, err := requests.UpdateApproval(ctx, made.Name, made, metav1.UpdateOptions{}); err != nil {
		return nil, err
	}
	const interval, patience = 100 * time.Millisecond, time.Minute
	err = wait.PollUntilContextTimeout(ctx, interval, patience, true, func(ctx context.Context) (bool, error) {
		made, err = requests.Get(ctx, made.Name, metav1.GetOptions{})
		return err == nil && len(made.Status.Certificate) > 0, err
	})
	return made.Status.Certificate, err
}
