package harness

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/e2e/auditor"
	"github.com/sliceshift/sliceshift/e2e/fixture"
	"github.com/sliceshift/sliceshift/e2e/testbed"
	"github.com/sliceshift/sliceshift/internal/treediff"
	"github.com/sliceshift/sliceshift/volumes/methods"
)

// Move is the move of one application, watched by an auditor.
type Move struct {
	T testing.TB
	// Ctx ends with the test or at its time limit.
	Ctx context.Context //nolint:containedctx // a test has one context, and every helper needs it
	// App describes the application at the source. At the destination it has the names ToNamespace and ToName.
	App                 fixture.App
	From, To            Cluster
	ToNamespace, ToName string
	Migration           *api.Migration
	Auditor             *auditor.Auditor
	// Budget is the number of replicas that may be down.
	Budget              int32
	Source, Destination kubernetes.Interface
	// CSI changes the volumes of a CSI driver before they are created.
	CSI func(*corev1.CSIPersistentVolumeSource)
	// Limit is the time limit of a test for which the usual limit is too short.
	Limit time.Duration
	// Content compares a volume with its copied or restored counterpart. The default is treediff.Compare.
	Content func(ctx context.Context, from, to string) ([]string, error)
	// Keep copies a volume for the auditor, which compares it again at the end. The default is treediff.Keep; nil keeps
	// nothing.
	Keep func(ctx context.Context, from, to string) error
	// Deployed is called when the application runs, before the auditor watches it.
	Deployed func()
}

// Setting changes a move before it is deployed.
type Setting func(*Move)

// AcrossClusters moves from east to west.
func AcrossClusters(v *Move) { v.From, v.To = east, west }

// AcrossNamespaces moves to another namespace of east.
func AcrossNamespaces(v *Move) { v.From, v.To, v.ToNamespace = east, east, v.App.Namespace+"-new" }

// AcrossNames moves to another name in the same namespace.
func AcrossNames(v *Move) { v.From, v.To, v.ToName = east, east, "web-next" }

// WithSpec changes the spec of the Migration.
func WithSpec(change func(*api.MigrationSpec)) Setting {
	return func(v *Move) { change(&v.Migration.Spec) }
}

// WithBudget sets the number of replicas that may be down to d.
func WithBudget(d int32) Setting { return func(v *Move) { v.Budget = d } }

// IntOrString parses a number or a percentage.
func IntOrString(s string) *intstr.IntOrString {
	value := intstr.Parse(s)
	return &value
}

// Usual returns the application that most tests move.
func Usual(replicas int32) fixture.App {
	return fixture.App{Replicas: replicas, Claims: []string{"data"}, MaxUnavailable: IntOrString("1")}
}

// NewMove deploys an application in its own namespace.
func NewMove(t testing.TB, app fixture.App, settings ...Setting) *Move {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), current.limit())
	t.Cleanup(cancel)
	app.Namespace, app.Name = "t-"+rand.String(8), "web"
	m := fixture.NewMigration(app.Namespace, app.Name)
	v := &Move{T: t, Ctx: ctx, App: app, From: east, To: west, ToNamespace: app.Namespace, ToName: app.Name, Budget: 1, Migration: m, Content: treediff.Compare, Keep: treediff.Keep}
	v.Migration.Spec.Destination.CreateNamespace = true
	for _, set := range settings {
		set(v)
	}
	if v.Limit > 0 {
		v.Ctx, cancel = context.WithTimeout(t.Context(), v.Limit)
		t.Cleanup(cancel)
	}
	if v.inPlace() {
		v.Migration.Spec.Destination = api.DestinationReference{}
	} else {
		v.Migration.Spec.Destination.Namespace, v.Migration.Spec.Destination.Name = v.ToNamespace, v.ToName
		fixture.SharePaths(v.Migration, v.App.Claims...)
	}
	v.Source = kubernetes.NewForConfigOrDie(v.From.RESTConfig())
	v.Destination = kubernetes.NewForConfigOrDie(v.To.RESTConfig())
	v.Must(current.deploy(v))
	if v.Deployed != nil {
		v.Deployed()
	}
	v.startAuditor()
	return v
}

// inPlace reports whether the volumes are replaced under the name of their StatefulSet.
func (v *Move) inPlace() bool { return v.Migration.Spec.Storage != nil }

// InPlace replaces the volumes of claim template data in east, under the name of their StatefulSet, by those of another class
// and size. No size keeps the present one. The class has the provisioner of the cluster.
func InPlace(size *resource.Quantity) Setting {
	return func(v *Move) {
		v.From, v.To, v.ToNamespace, v.ToName = east, east, v.App.Namespace, v.App.Name
		class := "in-place-" + v.App.Namespace
		v.Migration.Spec.Storage = &api.StorageSpec{}
		v.Migration.Spec.Volumes = []api.VolumeSpec{{
			ClaimTemplate: "data", Method: api.MethodCopy, StorageClassName: &class, Size: size, Copy: api.CopySpec{Image: "mover", Devices: true},
		}}
		v.Deployed = func() { v.createClass(class) }
	}
}

// createClass creates a StorageClass whose volumes are folders of this machine.
func (v *Move) createClass(name string) {
	v.T.Helper()
	classes := v.Source.StorageV1().StorageClasses()
	_, err := classes.Create(v.Ctx, &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Provisioner: "kubernetes.io/host-path"}, metav1.CreateOptions{})
	v.Must(err)
	v.T.Cleanup(func() { _ = classes.Delete(context.WithoutCancel(v.Ctx), name, metav1.DeleteOptions{}) })
}

func (v *Move) startAuditor() {
	v.T.Helper()
	budget := v.Budget
	if v.App.MaxUnavailable == nil && v.App.MinAvailable == nil {
		budget = 0 // without a PodDisruptionBudget evictions are unbounded
	}
	watching, err := auditor.Start(v.Ctx, auditor.Options{
		Source: auditor.Side{
			Name: "source", Config: v.From.RESTConfig(), Namespace: v.App.Namespace, Set: v.App.Name, Resource: resourceOf(v.Migration.Spec.Source.APIVersion),
		},
		Destination: auditor.Side{
			Name: "destination", Config: v.To.RESTConfig(), Namespace: v.ToNamespace, Set: v.ToName, Resource: resourceOf(v.Migration.Spec.Destination.APIVersion),
		},
		InPlace: v.inPlace(), Budget: budget, OwnVolumes: v.templates(func(m api.VolumeMethod) bool { return !m.FillsSecond() && methods.Of(m).Facts().Separate }),
		Copied: v.templates(api.VolumeMethod.FillsSecond), Content: v.Content, Keep: v.keeper(),
	})
	v.Must(err)
	v.Auditor = watching
	if a, is := v.T.(*testbed.Attempt); is {
		a.Watch(watching)
	}
}

// keeper returns the function by which the auditor keeps copies of volumes, each in a folder of its own; nil if no volume
// is copied, or Keep is nil.
func (v *Move) keeper() func(context.Context, string) (string, error) {
	if v.Keep == nil || len(v.templates(api.VolumeMethod.FillsSecond)) == 0 {
		return nil
	}
	in := v.T.TempDir()
	return func(ctx context.Context, from string) (string, error) {
		dir, err := os.MkdirTemp(in, "volume-")
		if err != nil {
			return "", err
		}
		kept := filepath.Join(dir, "kept")
		return kept, v.Keep(ctx, from, kept)
	}
}

// templates returns the claim templates whose method satisfies so.
func (v *Move) templates(so func(api.VolumeMethod) bool) []string {
	var found []string
	for _, asked := range v.Migration.Spec.Volumes {
		if so(asked.Method) {
			found = append(found, asked.ClaimTemplate)
		}
	}
	return found
}

// resourceOf returns the resource that the auditor watches for a version of StatefulSet.
func resourceOf(version string) schema.GroupVersionResource {
	if version == "" {
		return schema.GroupVersionResource{}
	}
	parsed, err := schema.ParseGroupVersion(version)
	if err != nil {
		panic(err)
	}
	return parsed.WithResource("statefulsets")
}

// Must ends the test if err is not nil.
func (v *Move) Must(err error) {
	v.T.Helper()
	if err != nil {
		v.T.Fatal(err)
	}
}

// Audit returns the auditor's verdict.
func (v *Move) Audit() auditor.Report {
	v.T.Helper()
	verdict := v.Auditor.Finish(v.Ctx)
	if !verdict.OK() {
		v.T.Errorf("the auditor does not agree:\n%s", verdict)
	}
	v.Must(current.check(v, verdict))
	return verdict
}

// Eventually polls a condition until it holds.
func (v *Move) Eventually(what string, condition func(context.Context) (bool, error)) {
	v.T.Helper()
	if err := wait.PollUntilContextCancel(v.Ctx, 20*time.Millisecond, true, condition); err != nil {
		v.T.Fatalf("%s: %v", what, err)
	}
}

// FromEnvironment is the number in a variable, or another one where it is not set.
func FromEnvironment(t *testing.T, name string, otherwise int) int {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	value, err := strconv.Atoi(text)
	if err != nil || value < 0 {
		t.Fatalf("%s=%s is no number", name, text)
	}
	return value
}

// Sleep waits for a span of the world's time: how long a fault lasts.
func Sleep(ctx context.Context, d time.Duration) { _ = fixture.Pass(ctx, d) }
