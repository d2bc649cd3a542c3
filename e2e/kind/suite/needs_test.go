package suite

import (
	"context"
	_ "embed"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/e2e/built"
	"github.com/sliceshift/sliceshift/e2e/kind"
	"github.com/sliceshift/sliceshift/e2e/kind/setup"
)

//go:embed needs.yaml
var needsText string

// class is the name of the cluster-scoped classes that the pods reference.
const class = "needed"

// needed returns the objects of the namespace that the pods need.
func (v *move) needed() []*unstructured.Unstructured {
	v.t.Helper()
	var objects []*unstructured.Unstructured
	for text := range strings.SplitSeq(strings.ReplaceAll(needsText, "NAMESPACE", v.app.namespace), "\n---\n") {
		object := &unstructured.Unstructured{}
		v.must(yaml.Unmarshal([]byte(text), &object.Object))
		object.SetNamespace(v.app.namespace)
		objects = append(objects, object)
	}
	return objects
}

// createNeeds creates the dependencies of the pods in east. Cluster-scoped objects are not copied; it creates them in
// west too, as the operator of west would.
func (v *move) createNeeds() {
	v.t.Helper()
	for _, at := range pair.Both() {
		c, err := setup.Client(at)
		v.must(err)
		for _, object := range []client.Object{
			&schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: class}, Value: 1},
			&nodev1.RuntimeClass{ObjectMeta: metav1.ObjectMeta{Name: class}, Handler: "runc"},
		} {
			v.must(c.Create(v.ctx, object))
			v.t.Cleanup(func() { _ = c.Delete(context.WithoutCancel(v.ctx), object) })
		}
	}
	c, err := setup.Client(pair.East)
	v.must(err)
	for _, object := range v.needed() {
		v.must(c.Create(v.ctx, object))
	}
}

// needing adds references to objects without which a kubelet or an API server does not start the pods.
func needing(spec *corev1.PodSpec) {
	local := func(name string) corev1.LocalObjectReference { return corev1.LocalObjectReference{Name: name} }
	runtime := class
	spec.ServiceAccountName, spec.PriorityClassName, spec.RuntimeClassName = "app", class, &runtime
	spec.ImagePullSecrets = []corev1.LocalObjectReference{local("pull")}
	container := &spec.Containers[0]
	container.EnvFrom = []corev1.EnvFromSource{{ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: local("settings")}}}
	container.Env = append(container.Env, corev1.EnvVar{Name: "PASSWORD", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{
		LocalObjectReference: local("password"), Key: "password",
	}}})
	spec.Volumes = append(spec.Volumes,
		corev1.Volume{Name: "page", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: local("page")}}},
		corev1.Volume{Name: "all", VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{
			{Secret: &corev1.SecretProjection{LocalObjectReference: local("certificate")}}, {ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Path: "token"}},
		}}}},
	)
	for _, name := range []string{"page", "all"} {
		container.VolumeMounts = append(container.VolumeMounts, corev1.VolumeMount{Name: name, MountPath: "/" + name, ReadOnly: true})
	}
}

// TestNeedsComeAlong: an application whose pods need objects of many kinds moves by one command into a namespace that
// west does not have. Real kubelets start no pod without these objects. A client that sends requests all the time is
// always answered.
func TestNeedsComeAlong(t *testing.T) {
	t.Parallel()
	t.Run("U-34: by one command, while somebody asks", func(t *testing.T) {
		a := usual()
		a.needs = true
		v := deploy(t, a)
		if _, err := pair.West.Client.CoreV1().Namespaces().Get(v.ctx, v.app.namespace, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			t.Fatalf("west is not empty: %v", err)
		}
		migrate := command(t)
		v.watch()
		stop := v.askAllTheTime()
		out, err := exec.CommandContext(v.ctx, migrate, "run", name, "-n", v.app.namespace, "--kubeconfig", pair.East.Kubeconfig,
			"--to-kubeconfig", pair.West.Kubeconfig, "--create-namespace", "--copy-dependencies", "--shared", "data").CombinedOutput()
		answered := stop()
		if err != nil {
			t.Fatalf("%v:\n%s", err, out)
		}
		t.Logf("%s\n%s", out, answered)
		answered.expect(t)
		kinds := v.expectCopies()
		if kinds < 12 {
			t.Errorf("%d kinds came along", kinds)
		}
		v.audit(v.expectMoved(), fmt.Sprintf("%d kinds came along; %s", kinds, answered))
	})
}

// command builds kubectl-migrate.
func command(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "migrate")
	if err := built.Command(t.Context(), "migrate", path); err != nil {
		t.Fatal(err)
	}
	return path
}

// carried are the kinds that every move carries over.
var carried = []string{"StatefulSet", "Service", "PodDisruptionBudget", "PersistentVolume", "PersistentVolumeClaim"}

// expectCopies checks that west has a copy of each object, and returns the number of kinds that were copied or
// carried.
func (v *move) expectCopies() int {
	v.t.Helper()
	c, err := setup.Client(pair.West)
	v.must(err)
	kinds := append(slices.Clone(carried), "PriorityClass", "RuntimeClass", "ClusterRole")
	for _, object := range v.needed() {
		there := &unstructured.Unstructured{}
		there.SetGroupVersionKind(object.GroupVersionKind())
		if err := c.Get(v.ctx, client.ObjectKeyFromObject(object), there); err != nil {
			v.t.Errorf("%s %s: %v", object.GetKind(), object.GetName(), err)
		} else if there.GetAnnotations()[api.OriginAnnotationKey] == "" {
			v.t.Errorf("%s %s does not say what it is a copy of", object.GetKind(), object.GetName())
		}
		kinds = append(kinds, object.GetKind())
	}
	slices.Sort(kinds)
	return len(slices.Compact(kinds))
}

// answers are the responses to a client that sent requests all the time.
type answers struct {
	served   map[string]int
	unserved []time.Time
	longest  time.Duration
}

func (a answers) String() string {
	return fmt.Sprintf("%d requests answered in east, %d in west, %d nowhere; the longest took %.1f s", a.served["east"], a.served["west"], len(a.unserved), a.longest.Seconds())
}

func (a answers) expect(t *testing.T) {
	t.Helper()
	if len(a.unserved) > 0 || a.served["east"] == 0 || a.served["west"] == 0 {
		t.Errorf("%s; not answered at %v", a, a.unserved)
	}
}

// askAllTheTime sends requests to the application's Service, one after the other, like a client that knows both
// clusters. If one cluster does not answer, it tries the other, a few times. The returned function ends it.
func (v *move) askAllTheTime() (stop func() answers) {
	ctx, cancel := context.WithCancel(v.ctx)
	done := make(chan answers)
	go func() {
		got := answers{served: map[string]int{}}
		for ctx.Err() == nil {
			began := time.Now()
			at, err := v.request(ctx)
			switch {
			case ctx.Err() != nil:
			case err != nil:
				got.unserved = append(got.unserved, began)
			default:
				got.served[at]++
				got.longest = max(got.longest, time.Since(began))
			}
		}
		done <- got
	}()
	return func() answers {
		cancel()
		return <-done
	}
}

// Limits of one request.
const (
	tries   = 3
	patient = 2 * time.Second
)

// request returns the first cluster that answers.
func (v *move) request(ctx context.Context) (at string, err error) {
	for range tries {
		for _, c := range pair.Both() {
			if err = v.requestAt(ctx, c); err == nil {
				return c.Name, nil
			}
		}
	}
	return "", err
}

func (v *move) requestAt(ctx context.Context, c *kind.Cluster) error {
	ctx, cancel := context.WithTimeout(ctx, patient)
	defer cancel()
	return c.Client.CoreV1().RESTClient().Get().Namespace(v.app.namespace).Resource("services").Name("front:http").SubResource("proxy").Suffix("hostname").Do(ctx).Error()
}
