// Package kind starts two kind clusters on this machine. Nodes are containers, with real kubelets, containers and
// data. The clusters are on one Docker network, and the pods of each reach those of the other. A folder of this
// machine is mounted on every node, as storage that the clusters share.
//
// If a registry is reachable, the nodes use kind's own image. Otherwise nodeimage builds an image.
package kind

import (
	"bytes"
	"context"
	"crypto/x509/pkix"
	_ "embed"
	"fmt"
	"os"
	"strconv"
	"strings"
	"text/template"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/certificate/csr"
	"k8s.io/client-go/util/keyutil"

	"github.com/sliceshift/sliceshift/e2e/fixture"
	"github.com/sliceshift/sliceshift/e2e/kind/docker"
)

// Cluster is one cluster of a Pair.
type Cluster struct {
	// Name is "east", "west" or "hub".
	Name string
	// Kubeconfig is the path of a kubeconfig file.
	Kubeconfig string
	// Config and Client reach the cluster from this process.
	Config *rest.Config
	Client kubernetes.Interface
	// Nodes are its containers, the control plane first. A cluster of the user has none, so tests that stop a machine
	// cannot run there.
	Nodes []string

	podSubnet, serviceSubnet string
	roles                    []string
}

// connect reads the kubeconfig.
func (c *Cluster) connect() error {
	config, err := clientcmd.BuildConfigFromFlags("", c.Kubeconfig)
	if err != nil {
		return fmt.Errorf("cluster %s: read %s: %w", c.Name, c.Kubeconfig, err)
	}
	config.QPS, config.Burst = 1000, 2000
	c.Config = config
	c.Client, err = kubernetes.NewForConfig(config)
	return err
}

// awaitSystem waits until the system pods are Ready. Until then the nodes unpack images, which would distort what
// tests measure.
func (c *Cluster) awaitSystem(ctx context.Context) error {
	const interval, patience = 500 * time.Millisecond, 5 * time.Minute
	var waiting string
	err := wait.PollUntilContextTimeout(ctx, interval, patience, true, func(ctx context.Context) (bool, error) {
		pods, err := c.Client.CoreV1().Pods(metav1.NamespaceSystem).List(ctx, metav1.ListOptions{})
		if err != nil {
			return false, err
		}
		for i := range pods.Items {
			if !fixture.IsReady(&pods.Items[i]) {
				waiting = pods.Items[i].Name
				return false, nil
			}
		}
		return true, nil
	})
	if err != nil {
		return fmt.Errorf("cluster %s: pod %s/%s does not become Ready: %w", c.Name, metav1.NamespaceSystem, waiting, err)
	}
	return nil
}

// Worker returns the container of the node that runs the pods.
func (c *Cluster) Worker() string { return c.Nodes[len(c.Nodes)-1] }

// ControlPlane returns the container of the node that runs the API server.
func (c *Cluster) ControlPlane() string { return c.Nodes[0] }

// Inside returns the address of the API server for pods of the other cluster.
func (c *Cluster) Inside(ctx context.Context) (string, error) {
	if len(c.Nodes) == 0 {
		return c.Config.Host, nil
	}
	address, err := Address(ctx, c.ControlPlane())
	return "https://" + address + ":6443", err
}

// Address returns the address of a node for the nodes of all clusters.
func Address(ctx context.Context, node string) (string, error) {
	address, err := docker.Output(ctx, "inspect", "--format", `{{(index .NetworkSettings.Networks "`+network+`").IPAddress}}`, node)
	if err == nil && address == "" {
		err = fmt.Errorf("node %s has no address on the network %s: is it running?", node, network)
	}
	return address, err
}

// Process returns the id, on this machine, of the first process of a node.
func Process(ctx context.Context, node string) (int, error) {
	number, err := docker.Output(ctx, "inspect", "--format", "{{.State.Pid}}", node)
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(number)
}

// In runs a command in a node.
func In(ctx context.Context, node string, args ...string) error {
	return docker.Run(ctx, append([]string{"exec", node}, args...)...)
}

// nodeNames returns the containers of a cluster, the control plane first.
func nodeNames(ctx context.Context, cluster string) ([]string, error) {
	output, err := docker.Output(ctx, "ps", "-a", "--filter", "label=io.x-k8s.kind.cluster="+cluster, "--format", "{{.Names}}")
	if err != nil {
		return nil, err
	}
	var first, rest []string
	for node := range strings.FieldsSeq(output) {
		if strings.HasSuffix(node, "-"+controlPlane) {
			first = append(first, node)
		} else {
			rest = append(rest, node)
		}
	}
	return append(first, rest...), nil
}

// UserKubeconfig writes a file into dir by which a user of that name reaches the cluster. It signs a certificate for
// any requested user (certificates.k8s.io, signer kubernetes.io/kube-apiserver-client).
func (c *Cluster) UserKubeconfig(ctx context.Context, dir, user string, groups ...string) (string, error) {
	key, err := keyutil.MakeEllipticPrivateKeyPEM()
	if err != nil {
		return "", err
	}
	private, err := keyutil.ParsePrivateKeyPEM(key)
	if err != nil {
		return "", err
	}
	request, err := cert.MakeCSR(private, &pkix.Name{CommonName: user, Organization: groups}, nil, nil)
	if err != nil {
		return "", err
	}
	certificate, err := c.sign(ctx, request)
	if err != nil {
		return "", fmt.Errorf("cluster %s: certificate of user %s: %w", c.Name, user, err)
	}
	config := clientcmdapi.NewConfig()
	config.Clusters[c.Name] = &clientcmdapi.Cluster{Server: c.Config.Host, CertificateAuthorityData: c.Config.CAData}
	config.AuthInfos[c.Name] = &clientcmdapi.AuthInfo{ClientCertificateData: certificate, ClientKeyData: key}
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
	const patience = time.Minute
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return csr.WaitForCertificate(ctx, c.Client, made.Name, made.UID)
}

// Shared is the folder on every node that all clusters share.
const Shared = "/shared"

// StorageClass is the class of the volumes in this folder.
const StorageClass = "sliceshift-shared"

//go:embed cluster.yaml.tmpl
var configText string

var configTemplate = template.Must(template.New("cluster").Parse(configText))

// setting is the input for the configuration of one cluster.
type setting struct {
	Name                     string
	PodSubnet, ServiceSubnet string
	SharedDir, Shared        string
	// Roles are the roles of the nodes.
	Roles []string
}

// text returns kind's configuration, without the adaptations to this machine.
func (s setting) text() ([]byte, error) {
	var out bytes.Buffer
	err := configTemplate.Execute(&out, s)
	return out.Bytes(), err
}

const controlPlane = "control-plane"

// machines are the roles of the nodes of a cluster that runs an application. The API server has its own machine, so
// that a test can stop the machine that runs the pods.
var machines = []string{controlPlane, "worker"}
