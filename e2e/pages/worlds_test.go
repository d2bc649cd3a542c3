package pages

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/sliceshift/sliceshift/e2e/cluster"
	"github.com/sliceshift/sliceshift/e2e/harness"
	"github.com/sliceshift/sliceshift/internal/tool"
)

// world is a state of the clusters that commands require.
type world struct {
	name string
	// prepare creates this state in a scene.
	prepare func(*scene)
	// alone means that each command needs a new scene. Otherwise the commands of one page run one after the
	// other in one scene.
	alone bool
	// once means that the commands of all pages run one after the other in one scene.
	once bool
	// last matches the commands that end this state; they run after all others.
	last *regexp.Regexp
}

// The worlds. Before is the state before a move, Split after a part of it, Moved after all of it, and Moving
// during it. Lost is also during a move, and the destination is unreachable. Hooking has a hook that runs,
// Hooked a hook that has failed.
var (
	before   = &world{name: "before", prepare: prepareBefore}
	fresh    = &world{name: "fresh", prepare: prepareFresh, alone: true}
	shaped   = &world{name: "shaped", prepare: func(s *scene) { s.deploy("etcd", "db"); s.must("kubectl create namespace shop --context west") }, alone: true}
	split    = &world{name: "split", prepare: func(s *scene) { s.deploy("web"); s.must(moves + " --count 1") }}
	moved    = &world{name: "moved", prepare: func(s *scene) { s.deploy("web"); s.must(moves + " --log web.log") }, last: regexp.MustCompile(`^kubectl (delete|migrate run) `)}
	moving   = &world{name: "moving", prepare: func(s *scene) { s.begin() }, last: regexp.MustCompile(` rollback `)}
	lost     = &world{name: "lost", prepare: prepareLost, alone: true}
	hooked   = &world{name: "hooked", prepare: prepareHooked, alone: true}
	hooking  = &world{name: "hooking", prepare: prepareHooking, alone: true}
	managed  = &world{name: "managed", prepare: prepareManaged, last: regexp.MustCompile(`^kubectl delete`)}
	handmade = &world{name: "handmade", prepare: func(s *scene) {
		s.deploy("web")
		s.must("kubectl config view --raw --minify --flatten --context west > west.kubeconfig")
	}}
	bare    = &world{name: "bare", prepare: prepareBare, once: true}
	charted = &world{name: "charted", prepare: prepareBare, once: true}
	granted = &world{name: "granted", prepare: func(s *scene) { s.deploy("web"); s.must(grants) }, alone: true}
	ours    = &world{name: "ours", prepare: prepareOurs, last: regexp.MustCompile(`rollout (undo [^-]*-n \w+$|pause|resume|restart)|set image`)}
	adopted = &world{name: "adopted", prepare: func(s *scene) {
		s.deploy("web")
		s.must("kubectl create namespace shop --context west; kubectl migrate adopt web -n shop")
	}, alone: true}
	native = &world{name: "native", prepare: func(s *scene) { s.deploy("web") }}
)

const (
	// moves is a move of all of web, or of a part if more flags limit it.
	moves = "kubectl migrate run web -n shop --context east --to-context west --create-namespace"
	// grants creates an account for moves and access to west, which a manager needs.
	grants = `kubectl create namespace shop --context west
kubectl apply -f config/samples/mover.yaml --context west
kubectl apply -f config/samples/mover.yaml --context east
kubectl create secret generic west -n shop --context east --from-file=value=west.yaml`
	// creates is the command that makes a manager move web.
	creates = "kubectl migrate create web -n shop --context east --destination-secret west --service-account mover"
	// status prints the status of a move as JSON.
	status = "kubectl migrate status web -n shop --context east -o json"
)

// Files that pages name, but show only in part.
const (
	gatesFile = `gates:
- name: quorum
  at: [BeforeStop, AfterStart]
  cel:
    objects: {apiVersion: v1, kind: ConfigMap, side: Source, name: members}
    expression: object != null && int(object.data.healthy) >= 3
`
	// hooksFile has a hook whose pod never ends here, because the kubelets are simulated. Its timeout is one
	// second.
	hooksFile = `hooks:
- name: hand-over
  point: BeforeOrdinal
  timeoutSeconds: 1
  job:
    spec:
      backoffLimit: 0
      template:
        spec:
          containers:
          - {name: tool, image: "registry.example/ring-tool:1", args: [hand-over]}
`
	// setFile has the claim templates of web, with another class and a smaller size.
	setFile = `apiVersion: apps/v1
kind: StatefulSet
metadata: {name: web, namespace: shop}
spec:
  volumeClaimTemplates:
  - metadata: {name: data}
    spec:
      accessModes: [ReadWriteOnce]
      storageClassName: fast
      resources: {requests: {storage: 512Mi}}
`
	migrationFile = `apiVersion: migration.sliceshift.io/v1alpha1
kind: Migration
metadata: {name: web, namespace: shop}
spec:
  source: {name: web}
  destination:
    createNamespace: true
    kubeConfigSecretRef: {name: west}
  serviceAccountName: mover
`
)

// Other objects that the pages of reasons inspect, in both clusters.
const (
	besidesEast = `apiVersion: storage.k8s.io/v1
kind: VolumeAttachment
metadata: {name: shop-attached}
spec: {attacher: disks.example.com, nodeName: node-0, source: {persistentVolumeName: shop-data-web-0}}
---
` + sharedClaim
	besidesWest = `apiVersion: v1
kind: Pod
metadata: {name: report-1, namespace: shop}
spec:
  containers: [{name: report, image: "report:1"}]
  volumes: [{name: shared, persistentVolumeClaim: {claimName: shared}}]
---
apiVersion: v1
kind: Service
metadata: {name: web-3, namespace: shop}
spec: {clusterIP: None, selector: {app: web}}
---
apiVersion: multicluster.x-k8s.io/v1alpha1
kind: ServiceExport
metadata: {name: web, namespace: shop}
---
` + sharedClaim
	sharedClaim = `apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: shared, namespace: shop}
spec: {accessModes: [ReadWriteMany], resources: {requests: {storage: 1Gi}}}
`
)

func prepareBefore(s *scene) {
	s.deploy("web", "etcd", "db")
	s.must("kubectl create namespace store; kubectl create namespace shop --context west")
}

func prepareFresh(s *scene) {
	s.deploy("web")
	s.must("kubectl create namespace store; kubectl create namespace shop --context west; kubectl create configmap members -n shop --from-literal healthy=3")
}

// begin starts a move, which runs until it is interrupted, and waits for its first ordinal.
func (s *scene) begin(flags ...string) (interrupt func()) {
	s.t.Helper()
	s.deploy("web")
	interrupt = s.start(s.own(moves + " --min-ready 10s " + strings.Join(flags, " ")))
	s.must("kubectl wait pod web-2 -n shop --context west --for=create --timeout=1m; kubectl wait pod web-2 -n shop --context west --for=condition=Ready --timeout=1m")
	return interrupt
}

// prepareLost interrupts a move and makes the destination unreachable.
func prepareLost(s *scene) {
	s.begin()()
	config, err := clientcmd.LoadFromFile(s.kubeconfig)
	if err != nil {
		s.t.Fatal(err)
	}
	config.Clusters["west"].Server = "https://127.0.0.1:1"
	if err := clientcmd.WriteToFile(*config, s.kubeconfig); err != nil {
		s.t.Fatal(err)
	}
}

// prepareHooked waits until the hook of an ordinal has failed.
func prepareHooked(s *scene) {
	s.deploy("web")
	s.start(s.own(moves + " --hooks hooks.yaml"))
	s.must(hookFails)
}

// prepareHooking waits until the hook of an ordinal runs. Its timeout is long.
func prepareHooking(s *scene) {
	s.deploy("web")
	s.rewrite("hooks.yaml", func(text string) string {
		return strings.Replace(text, "timeoutSeconds: 1\n", "timeoutSeconds: 600\n", 1)
	})
	s.start(s.own(moves + " --hooks hooks.yaml"))
	s.must("kubectl wait pod -l job-name -n shop --context east --for=create --timeout=1m; kubectl wait pod -l job-name -n shop --context east --for=condition=Ready --timeout=1m")
}

// hookFails waits until a hook has failed on its timeout.
const hookFails = `timeout 60 bash -c 'until ` + status + ` 2>/dev/null | grep -q HookTimedOut; do sleep 0.2; done'`

func prepareManaged(s *scene) {
	s.deploy("web")
	s.must(grants)
	s.must(creates)
	s.must("kubectl wait migration web -n shop --context east --for=condition=Completed --timeout=5m")
	s.write("east.yaml", besidesEast)
	s.write("west-besides.yaml", besidesWest)
	s.must("kubectl create -f east.yaml --context east; kubectl create -f west-besides.yaml --context west")
}

// prepareOurs adopts a StatefulSet and updates it to its third revision.
func prepareOurs(s *scene) {
	s.deploy("web")
	s.must("kubectl migrate adopt web -n shop")
	for _, image := range []string{"app:2", "app:3"} {
		s.must(`kubectl patch slice web -n shop --type json -p '[{"op":"replace","path":"/spec/template/spec/containers/0/image","value":"` + image + `"}]'
kubectl migrate rollout status web -n shop`)
	}
}

// prepareBare points both contexts to a new cluster that has only the kinds of third parties, such as those of
// the Prometheus operator.
func prepareBare(s *scene) {
	c, err := cluster.Start(s.ctx, cluster.Options{Name: "bare"})
	if err != nil {
		s.t.Fatal(err)
	}
	c.StopAfter(s.t)
	s.reach(c.Kubeconfig(), c.Kubeconfig())
	if err := define(c); err != nil {
		s.t.Fatal(err)
	}
	s.must("kubectl wait crd prometheusrules.monitoring.coreos.com --for=condition=Established --timeout=1m")
	s.kubelet = &kubelet{}
	if err := s.kubelet.serve(s.ctx, kubernetes.NewForConfigOrDie(c.RESTConfig())); err != nil {
		s.t.Fatal(err)
	}
	s.bring()
}

// bring copies the charts into the scene's folder and adds the programs that the pages run: the built manager
// and helm.
func (s *scene) bring() {
	s.t.Helper()
	helm, err := tool.Path(s.ctx, "helm")
	if err != nil {
		s.t.Fatal(err)
	}
	bin := filepath.Join(s.dir, "bin")
	err = errors.Join(os.CopyFS(filepath.Join(s.dir, "charts"), os.DirFS(filepath.Join(root, "charts"))), os.Mkdir(bin, 0o755),
		os.Symlink(harness.Program(s.t, "manager"), filepath.Join(bin, "manager")), os.Symlink(helm, filepath.Join(bin, "helm")))
	if err != nil {
		s.t.Fatal(err)
	}
	s.env = append(s.env, "PATH="+bin+":"+s.programs+":"+os.Getenv("PATH"), "HELM_CACHE_HOME="+s.dir, "HELM_CONFIG_HOME="+s.dir, "HELM_DATA_HOME="+s.dir,
		"SLICESHIFT_METRICS_BIND_ADDRESS=0", "SLICESHIFT_HEALTH_PROBE_BIND_ADDRESS=0") // avoid the ports of this machine
}

// write writes a file into the scene's folder, with the names of the scene.
func (s *scene) write(name, text string) {
	s.t.Helper()
	if err := os.WriteFile(filepath.Join(s.dir, name), []byte(s.own(text)), 0o600); err != nil {
		s.t.Fatal(err)
	}
}
