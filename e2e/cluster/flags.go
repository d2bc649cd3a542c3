package cluster

import (
	"bytes"
	"embed"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/version"

	"github.com/sliceshift/sliceshift/e2e/versions"
)

// Annotations of a pod that delay its kubelet. All take a Go duration such as "3s". The time runs from the last change
// of the pod: another change restarts the wait, and so does a new kwok.
const (
	// ReadyDelayAnnotationKey delays a pod's Ready condition by that time after it was scheduled. A pod template may
	// set it.
	ReadyDelayAnnotationKey = "e2e.sliceshift.io/ready-delay"
	// DeleteDelayAnnotationKey keeps a deleted pod Terminating for that time, whatever its grace period, unless the
	// grace period is 0.
	DeleteDelayAnnotationKey = "e2e.sliceshift.io/delete-delay"
	// PullDelayAnnotationKey delays the switch of a running pod to a changed image by that time.
	PullDelayAnnotationKey = "e2e.sliceshift.io/pull-delay"
)

// Annotations of a pod that disable a part of its kubelet.
const (
	// UnseenAnnotationKey keeps the kubelet from seeing changes of a running pod while the annotation is set. The
	// value does not matter.
	UnseenAnnotationKey = "e2e.sliceshift.io/unseen"
	// ResizeAnnotationKey lets the kubelet answer a resize with this reason of the condition PodResizePending while
	// the annotation is set: Infeasible or Deferred.
	ResizeAnnotationKey = "e2e.sliceshift.io/resize"
)

//go:embed stages/*.yaml
var stages embed.FS

// writeStages writes the configuration of kwok, one file with the content of all files of the folder stages.
func writeStages(dir string) error {
	files, err := fs.Glob(stages, "stages/*.yaml")
	if err != nil {
		return fmt.Errorf("list the stages: %w", err)
	}
	documents := make([][]byte, 0, len(files))
	for _, file := range files {
		document, err := stages.ReadFile(file)
		if err != nil {
			return fmt.Errorf("read a stage: %w", err)
		}
		documents = append(documents, document)
	}
	config := bytes.Join(documents, []byte("---\n"))
	return os.WriteFile(filepath.Join(dir, stagesFile), config, 0o600)
}

// The files of a cluster's folder. The roles run inside it, so that their flags need no absolute paths: the path of a
// unix socket must be short.
const (
	caFile         = "ca.crt"
	servingFile    = "serving.crt"
	servingKeyFile = "serving.key"
	accountKeyFile = "service-account.key"
	stagesFile     = "kwok.yaml"

	etcdData       = "etcd"
	etcdSocket     = "localhost:2379" // a file, although etcd insists on the form of a host and a port
	etcdPeerSocket = "localhost:2380"

	serviceCIDR    = "10.96.0.0/16"
	firstServiceIP = "10.96.0.1"
)

// MaxUnavailable is the feature gate of maxUnavailable in apps/v1, for what compares our own kind with the native
// StatefulSet. versions.MaxUnavailableOn has the versions in which it is on by default.
const MaxUnavailable = "MaxUnavailableStatefulSet=true"

// Client limits of the roles. The defaults (20 requests a second) throttle the native StatefulSet controller, and
// every comparison would favour our kind.
var clientLimits = []string{"--kube-api-qps=1000", "--kube-api-burst=2000"}

// attachController runs only with Options.Attach.
const attachController = "persistentvolume-attach-detach-controller"

// idleControllers would do nothing here and only cost time: these clusters have no clouds, no attachable volumes, no
// device plugins and no certificate requests.
var idleControllers = []string{
	"certificatesigningrequest-approving-controller",
	"certificatesigningrequest-cleaner-controller",
	"certificatesigningrequest-signing-controller",
	"cloud-node-lifecycle-controller",
	"device-taint-eviction-controller",
	"kube-apiserver-serving-clustertrustbundle-publisher-controller",
	"legacy-serviceaccount-token-cleaner-controller",
	"node-ipam-controller",
	"node-route-controller",
	attachController,
	"podcertificaterequest-cleaner-controller",
	"podgroup-protection-controller",
	"resourcepoolstatusrequest-controller",
	"service-cidr-controller",
	"service-lb-controller",
	"storage-version-migrator-controller",
	"storageversion-garbage-collector-controller",
	"ttl-controller",
	"volumeattributesclass-protection-controller",
}

// disabled returns the arguments of --controllers that disable the idle controllers of a version.
func disabled(v *version.Version, attach bool) string {
	var all strings.Builder
	for _, name := range idleControllers {
		if versions.KnowsController(name, v.Minor()) && (name != attachController || !attach) {
			all.WriteString(",-" + name)
		}
	}
	return all.String()
}

// arguments returns the command line of a role. It depends only on constant input, so that a restarted role is the
// same role (C1).
func (c *Cluster) arguments(role Role) []string {
	var flags []string
	switch role {
	case Etcd:
		flags = etcdFlags()
	case APIServer:
		flags = append(apiServerFlags(c.ports[APIServer]), c.gates()...)
	case ControllerManager:
		flags = append(append(c.clientFlags(role), c.controllerManagerFlags()...), c.gates()...)
	case Scheduler:
		flags = c.clientFlags(role)
	case Kwok:
		flags = []string{
			"--kubeconfig=" + c.kubeconfigPath(roleUser(role)),
			"--config=" + stagesFile,
		}
	}
	return append(append([]string{string(role)}, flags...), c.options.Args[role]...)
}

func etcdFlags() []string {
	return []string{
		"--name=etcd",
		"--data-dir=" + etcdData,
		"--listen-client-urls=unix://" + etcdSocket,
		"--advertise-client-urls=unix://" + etcdSocket,
		"--listen-peer-urls=unix://" + etcdPeerSocket,
		"--initial-advertise-peer-urls=unix://" + etcdPeerSocket,
		"--initial-cluster=etcd=unix://" + etcdPeerSocket,
		"--unsafe-no-fsync",
		"--quota-backend-bytes=8589934592",
		// The only member elects itself after this time.
		"--heartbeat-interval=10",
		"--election-timeout=100",
		"--log-level=warn",
	}
}

func apiServerFlags(p port) []string {
	return append(servingFlags(p),
		"--etcd-servers=unix://"+etcdSocket,
		"--client-ca-file="+caFile,
		"--authorization-mode=RBAC",
		"--allow-privileged=true",
		"--service-account-issuer=https://kubernetes.default.svc.cluster.local",
		"--service-account-key-file="+accountKeyFile,
		"--service-account-signing-key-file="+accountKeyFile,
		"--service-cluster-ip-range="+serviceCIDR,
		// The apiserver is unreachable from inside the cluster, so its endpoints need no reconciler.
		"--endpoint-reconciler-type=none",
	)
}

func (c *Cluster) controllerManagerFlags() []string {
	return []string{
		"--controllers=*" + disabled(c.version, c.options.Attach),
		"--enable-hostpath-provisioner=true",
		// When a node has been silent for long, the node controller marks all its pods as not Ready, and no kubelet
		// reverts that. Tests that freeze a role for a while would have no Ready pod left.
		"--node-monitor-grace-period=24h",
		"--root-ca-file=" + caFile,
		"--service-account-private-key-file=" + accountKeyFile,
	}
}

// gates returns the flag of the cluster's feature gates.
func (c *Cluster) gates() []string {
	if len(c.options.Gates) == 0 {
		return nil
	}
	return []string{"--feature-gates=" + strings.Join(c.options.Gates, ",")}
}

// clientFlags returns the common flags of controller manager and scheduler. Their metrics need no authorization: a
// benchmark reads them, and they are on the loopback address only.
func (c *Cluster) clientFlags(role Role) []string {
	flags := append(servingFlags(c.ports[role]),
		"--kubeconfig="+c.kubeconfigPath(roleUser(role)),
		"--leader-elect=false",
		"--authentication-skip-lookup=true",
		"--authorization-always-allow-paths=/healthz,/livez,/readyz,/metrics",
	)
	return append(flags, clientLimits...)
}

func servingFlags(p port) []string {
	return []string{
		"--bind-address=127.0.0.1",
		"--secure-port=" + strconv.Itoa(p.number),
		"--permit-port-sharing=true", // see port
		"--tls-cert-file=" + servingFile,
		"--tls-private-key-file=" + servingKeyFile,
	}
}
