package pages

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sliceshift/sliceshift/e2e/cluster"
	"github.com/sliceshift/sliceshift/e2e/desk"
	"github.com/sliceshift/sliceshift/e2e/fixture"
	"github.com/sliceshift/sliceshift/e2e/harness"
)

// scene is a world with its own namespaces, for the commands of one page or for one command.
type scene struct {
	terminal
	// namespace replaces shop, the namespace of the pages.
	namespace  string
	kubeconfig string
	east, west kubernetes.Interface
	// programs is the folder with kubectl and kubectl migrate.
	programs string
	// kubelet is the kubelet of the scene's own cluster, if it has one.
	kubelet *kubelet
}

// stage holds the parts that all scenes share.
type stage struct {
	// programs is the folder with kubectl and kubectl migrate.
	programs string
}

// driver is the driver of a scene's disks. They exist in name only, and both clusters can reach them.
const driver = "disks.example.com"

// replicas is the number of replicas of each StatefulSet.
const replicas = 3

// limit bounds a scene. The longest scene has more than a hundred commands.
const limit = 10 * time.Minute

// inPage matches the names that a scene replaces with its own.
var inPage = regexp.MustCompile(`\b(shop|store)\b`)

// own returns a command with the page's names replaced by those of the scene.
func (s *scene) own(text string) string {
	return inPage.ReplaceAllStringFunc(text, func(name string) string {
		if name == "shop" {
			return s.namespace
		}
		return s.namespace + "-" + name
	})
}

func newStage(t *testing.T) *stage {
	t.Helper()
	binary, err := cluster.Build(t.Context(), os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	st := &stage{programs: t.TempDir()}
	if err := desk.Programs(t.Context(), st.programs, binary); err != nil {
		t.Fatal(err)
	}
	return st
}

// drive prepares both clusters for scenes: it installs the driver of the disks, the kinds of third parties and
// the kubelet.
var drive = harness.OnceInBoth(func(at harness.Cluster) error {
	ctx, client := context.Background(), kubernetes.NewForConfigOrDie(at.RESTConfig())
	_, err := client.StorageV1().CSIDrivers().Create(ctx, &storagev1.CSIDriver{ObjectMeta: metav1.ObjectMeta{Name: driver}}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	_, err = client.StorageV1().StorageClasses().Create(ctx, &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "fast"}, Provisioner: driver}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	if err := define(at); err != nil {
		return err
	}
	nodes, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for _, node := range nodes.Items {
		_, err := client.StorageV1().CSINodes().Create(ctx, &storagev1.CSINode{ObjectMeta: metav1.ObjectMeta{Name: node.Name}}, metav1.CreateOptions{})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return err
		}
		patch := fmt.Sprintf(`{"spec":{"drivers":[{"name":%q,"nodeID":"x","topologyKeys":null}]}}`, driver)
		if _, err := client.StorageV1().CSINodes().Patch(ctx, node.Name, types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
			return err
		}
	}
	return (&kubelet{}).serve(ctx, client)
})

// kinds lists kinds that third parties install.
var kinds = []struct {
	group, version, kind, plural string
	scope                        apiextensionsv1.ResourceScope
}{
	{"snapshot.storage.k8s.io", "v1", "VolumeSnapshot", "volumesnapshots", apiextensionsv1.NamespaceScoped},
	{"snapshot.storage.k8s.io", "v1", "VolumeSnapshotContent", "volumesnapshotcontents", apiextensionsv1.ClusterScoped},
	{"snapshot.storage.k8s.io", "v1", "VolumeSnapshotClass", "volumesnapshotclasses", apiextensionsv1.ClusterScoped},
	{"multicluster.x-k8s.io", "v1alpha1", "ServiceExport", "serviceexports", apiextensionsv1.NamespaceScoped},
	{"monitoring.coreos.com", "v1", "PrometheusRule", "prometheusrules", apiextensionsv1.NamespaceScoped},
}

// define defines the kinds of third parties. Their schemas accept any content.
func define(at harness.Cluster) error {
	c, err := harness.Client(at)
	if err != nil {
		return err
	}
	anything := &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: new(true)}}
	for _, each := range kinds {
		crd := &apiextensionsv1.CustomResourceDefinition{
			ObjectMeta: metav1.ObjectMeta{Name: each.plural + "." + each.group, Annotations: map[string]string{apiextensionsv1.KubeAPIApprovedAnnotation: "unapproved, for tests"}},
			Spec: apiextensionsv1.CustomResourceDefinitionSpec{
				Group: each.group, Scope: each.scope,
				Names:    apiextensionsv1.CustomResourceDefinitionNames{Plural: each.plural, Singular: strings.ToLower(each.kind), Kind: each.kind, ListKind: each.kind + "List"},
				Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{Name: each.version, Served: true, Storage: true, Schema: anything}},
			},
		}
		if err := fixture.Define(context.Background(), c, crd); err != nil {
			return err
		}
	}
	return takeSnapshots(c)
}

// takeSnapshots creates the VolumeSnapshotClass that the pages name. It first waits until the kind is served,
// which takes a moment after its definition.
func takeSnapshots(c client.Client) error {
	class := &unstructured.Unstructured{Object: map[string]any{"driver": driver, "deletionPolicy": "Delete"}}
	class.SetAPIVersion("snapshot.storage.k8s.io/v1")
	class.SetKind("VolumeSnapshotClass")
	class.SetName("nightly")
	list := &unstructured.UnstructuredList{}
	list.SetAPIVersion(class.GetAPIVersion())
	list.SetKind("VolumeSnapshotClassList")
	return errors.Join(fixture.AwaitServed(context.Background(), c, list), c.Create(context.Background(), class))
}

// newScene returns a scene with an empty namespace and a terminal that reaches both clusters.
func (st *stage) newScene(t *testing.T) *scene {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	t.Cleanup(cancel)
	s := &scene{namespace: "p-" + rand.String(6), programs: st.programs}
	s.terminal = terminal{t: t, ctx: ctx, dir: t.TempDir()}
	s.kubeconfig = filepath.Join(s.dir, "kubeconfig")
	s.env = append(desk.Env(st.programs, s.kubeconfig), "KUBE_EDITOR=true") // an editor that changes nothing
	s.reach(harness.East().Kubeconfig(), harness.West().Kubeconfig())
	s.east, s.west = kubernetes.NewForConfigOrDie(harness.East().RESTConfig()), kubernetes.NewForConfigOrDie(harness.West().RESTConfig())
	s.files()
	return s
}

// reach writes the kubeconfig with contexts east and west. Context hub is a third cluster in the pages, in
// which the manager runs; here it is east.
func (s *scene) reach(east, west string) {
	s.t.Helper()
	err := desk.WriteKubeconfig(s.kubeconfig, desk.Context{Name: "east", Kubeconfig: east}, desk.Context{Name: "west", Kubeconfig: west}, desk.Context{Name: "hub", Kubeconfig: east})
	if err != nil {
		s.t.Fatal(err)
	}
}

// files writes the files of a repository clone into the scene's folder, with the names of the scene. It also
// writes the files that pages require a reader to have.
func (s *scene) files() {
	s.t.Helper()
	source, err := filepath.Abs(root)
	if err != nil {
		s.t.Fatal(err)
	}
	if err := os.CopyFS(filepath.Join(s.dir, "config"), os.DirFS(filepath.Join(source, "config"))); err != nil {
		s.t.Fatal(err)
	}
	s.rewrite("config/samples/mover.yaml", func(text string) string { return s.own(text) })
	for name, text := range map[string]string{"gates.yaml": gatesFile, "hooks.yaml": hooksFile, "migration.yaml": migrationFile, "web.yaml": migrationFile, "statefulset.yaml": setFile} {
		s.write(name, text)
	}
	if err := desk.WriteKubeconfig(filepath.Join(s.dir, "west.yaml"), desk.Context{Name: "west", Kubeconfig: harness.West().Kubeconfig()}); err != nil {
		s.t.Fatal(err)
	}
}

func (s *scene) rewrite(name string, change func(string) string) {
	s.t.Helper()
	path := filepath.Join(s.dir, name)
	text, err := os.ReadFile(path)
	if err == nil {
		err = os.WriteFile(path, []byte(change(string(text))), 0o600)
	}
	if err != nil {
		s.t.Fatal(err)
	}
}

// must prepares the scene by running a command of the pages.
func (s *scene) must(text string) {
	s.t.Helper()
	s.terminal.must(s.own(text))
}

// deploy creates StatefulSets in east, each ordinal on a disk that west can reach, too.
func (s *scene) deploy(names ...string) {
	s.t.Helper()
	if err := drive(); err != nil {
		s.t.Fatal(err)
	}
	var ready sync.WaitGroup
	errs := make([]error, len(names))
	for i, name := range names {
		ready.Go(func() { errs[i] = s.deployOne(name) })
	}
	ready.Wait()
	for _, err := range errs {
		if err != nil {
			s.t.Fatal(err)
		}
	}
}

func (s *scene) deployOne(name string) error {
	for ordinal := range replicas {
		claim := fmt.Sprintf("data-%s-%d", name, ordinal)
		volume := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: s.namespace + "-" + claim}, Spec: corev1.PersistentVolumeSpec{
			Capacity: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}, AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimDelete, StorageClassName: "standard",
			ClaimRef:               &corev1.ObjectReference{Namespace: s.namespace, Name: claim},
			PersistentVolumeSource: corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: driver, VolumeHandle: s.namespace + "-" + claim}},
		}}
		if _, err := s.east.CoreV1().PersistentVolumes().Create(s.ctx, volume, metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	app := fixture.App{Namespace: s.namespace, Name: name, Replicas: replicas, Claims: []string{"data"}, MaxUnavailable: harness.IntOrString("1")}
	return app.Deploy(s.ctx, s.east)
}

// indented indents the output of a command for a message.
func indented(text string) string {
	return "    " + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n    ")
}
