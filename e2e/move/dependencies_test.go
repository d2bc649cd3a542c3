package move

import (
	"context"
	_ "embed"
	"fmt"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/e2e/fixture"
	"github.com/sliceshift/sliceshift/e2e/harness"
	"github.com/sliceshift/sliceshift/migration/engine"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/world"
)

//go:embed dependencies.yaml
var dependencies string

// needy makes the pods depend on objects of many kinds. The cluster-scoped objects exist in both clusters.
func needy(v *harness.Move) { needyServing("v1")(v) }

// needyServing does the same as needy, with a destination that serves one kind in this version.
func needyServing(version string) harness.Setting {
	return func(v *harness.Move) {
		v.T.Helper()
		needyOf(v, map[harness.Cluster]string{v.To: version, v.From: "v1"})
	}
}

func needyOf(v *harness.Move, versions map[harness.Cluster]string) {
	v.T.Helper()
	for _, cluster := range []harness.Cluster{v.From, v.To} {
		client, err := harness.Client(cluster)
		v.Must(err)
		v.Must(serveProviders(v.Ctx, client, versions[cluster]))
		classes(v, kubernetes.NewForConfigOrDie(cluster.RESTConfig()))
		if cluster != v.From {
			continue
		}
		v.Must(fixture.Create(v.Ctx, client, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: v.App.Namespace}}))
		for _, object := range needed(v) {
			v.Must(client.Create(v.Ctx, object))
		}
	}
	v.App.Adapt = needs
}

// secretsStore is a CSI driver whose volumes name an object of its own kind.
const secretsStore = "secrets-store.csi.k8s.io"

// serveProviders defines that kind in a cluster, in one version.
func serveProviders(ctx context.Context, c client.Client, version string) error {
	const group, kind = "secrets-store.csi.x-k8s.io", "SecretProviderClass"
	anything := true
	crd := &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "secretproviderclasses." + group},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: group, Scope: apiextensionsv1.NamespaceScoped, Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: "secretproviderclasses", Kind: kind},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: version, Served: true, Storage: true,
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: &anything}},
			}},
		},
	}
	if err := fixture.Create(ctx, c, crd); err != nil {
		return err
	}
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(schema.GroupVersionKind{Group: group, Version: version, Kind: kind + "List"})
	return fixture.AwaitServed(ctx, c, list)
}

// needed returns the namespaced objects that the pods need.
func needed(v *harness.Move) []*unstructured.Unstructured {
	v.T.Helper()
	var objects []*unstructured.Unstructured
	for text := range strings.SplitSeq(strings.ReplaceAll(dependencies, "NAMESPACE", v.App.Namespace), "\n---\n") {
		object := &unstructured.Unstructured{}
		v.Must(yaml.Unmarshal([]byte(text), &object.Object))
		object.SetNamespace(v.App.Namespace)
		objects = append(objects, object)
	}
	return objects
}

// classes creates the cluster-scoped objects, which all tests share.
func classes(v *harness.Move, c kubernetes.Interface) {
	v.T.Helper()
	meta := metav1.ObjectMeta{Name: "needed"}
	_, priority := c.SchedulingV1().PriorityClasses().Create(v.Ctx, &schedulingv1.PriorityClass{ObjectMeta: meta, Value: 1}, metav1.CreateOptions{})
	_, runtime := c.NodeV1().RuntimeClasses().Create(v.Ctx, &nodev1.RuntimeClass{ObjectMeta: meta, Handler: "runc"}, metav1.CreateOptions{})
	driver := &storagev1.CSIDriver{
		ObjectMeta: metav1.ObjectMeta{Name: secretsStore},
		Spec:       storagev1.CSIDriverSpec{VolumeLifecycleModes: []storagev1.VolumeLifecycleMode{storagev1.VolumeLifecycleEphemeral}},
	}
	_, csi := c.StorageV1().CSIDrivers().Create(v.Ctx, driver, metav1.CreateOptions{})
	for _, err := range []error{priority, runtime, csi} {
		if !apierrors.IsAlreadyExists(err) {
			v.Must(err)
		}
	}
}

// needs adds references to all of these objects to the pod template.
func needs(set *appsv1.StatefulSet) {
	spec := &set.Spec.Template.Spec
	local := func(name string) corev1.LocalObjectReference { return corev1.LocalObjectReference{Name: name} }
	runtime := "needed"
	spec.ServiceAccountName, spec.PriorityClassName, spec.RuntimeClassName = "app", "needed", &runtime
	spec.ImagePullSecrets = []corev1.LocalObjectReference{local("pull")}
	spec.InitContainers = []corev1.Container{{Name: "init", Image: "app:1", EnvFrom: []corev1.EnvFromSource{{ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: local("settings")}}}}}
	spec.Containers[0].Env = []corev1.EnvVar{{Name: "PASSWORD", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: local("password"), Key: "password"}}}}
	spec.Volumes = append(spec.Volumes,
		corev1.Volume{Name: "page", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: local("page")}}},
		corev1.Volume{Name: "all", VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{
			{Secret: &corev1.SecretProjection{LocalObjectReference: local("certificate")}}, {ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Path: "token"}},
		}}}},
		corev1.Volume{Name: "inline", VolumeSource: corev1.VolumeSource{CSI: &corev1.CSIVolumeSource{Driver: secretsStore, VolumeAttributes: map[string]string{"secretProviderClass": "vault"}}}},
	)
}

// copying enables copies of dependencies in the Migration, with changes by the test.
func copying(change func(*api.DependenciesSpec)) harness.Setting {
	return harness.WithSpec(func(s *api.MigrationSpec) {
		s.Dependencies.Mode = api.DependenciesCopy
		if change != nil {
			change(&s.Dependencies)
		}
	})
}

// TestDependencies moves an application that needs objects of twelve kinds into an empty namespace of another
// cluster, by one command. All objects are copied, without the fields that are specific to the source's
// cluster. No output contains a Secret.
func TestDependencies(t *testing.T) {
	t.Parallel()
	v := newMove(t, harness.Usual(2), harness.AcrossClusters, needy)
	out := v.exits(v.cli("plan"), 3)
	for _, missing := range []string{"ConfigMap " + v.ToNamespace + "/settings", "Secret " + v.ToNamespace + "/password", "--copy-dependencies"} {
		if !strings.Contains(out, missing) {
			t.Errorf("without copies it does not name %s:\n%s", missing, out)
		}
	}
	listed := v.exits(v.cli("plan", "--copy-dependencies"), 0)
	moved := v.exits(v.cli("run", "--copy-dependencies"), 0)
	for _, object := range needed(v.Move) {
		if step := fmt.Sprintf("copy %s %s to the destination", object.GetKind(), object.GetName()); !strings.Contains(listed, step) {
			t.Errorf("the plan does not say: %s\n%s", step, listed)
		}
		v.expectCopy(object)
	}
	for _, secret := range marks("MarkedPasswordOfTheDatabase") {
		if strings.Contains(listed+moved, secret) {
			t.Error("a Secret was shown")
		}
	}
	v.expectCleaned()
	v.ExpectMovedCleanly()
}

// expectCopy checks that an object of the destination records its origin.
func (v *move) expectCopy(object *unstructured.Unstructured) {
	v.T.Helper()
	_, to := v.clients()
	there := &unstructured.Unstructured{}
	there.SetGroupVersionKind(object.GroupVersionKind())
	if err := to.Get(v.Ctx, client.ObjectKey{Namespace: v.ToNamespace, Name: object.GetName()}, there); err != nil {
		v.T.Errorf("%s %s: %v", object.GetKind(), object.GetName(), err)
		return
	}
	origin := there.GetAnnotations()[api.OriginAnnotationKey]
	if path := v.App.Namespace + "/" + object.GetName() + " "; !strings.Contains(origin, path) || there.GetLabels()[api.OwnerLabelKey] == "" {
		v.T.Errorf("%s %s does not say what it is a copy of: %v, %v", object.GetKind(), object.GetName(), there.GetAnnotations(), there.GetLabels())
	}
}

// expectCleaned checks that only the pods' account gets rights, and that no Service is exposed outside the
// cluster.
func (v *move) expectCleaned() {
	v.T.Helper()
	core := v.Destination.CoreV1()
	front, err := core.Services(v.ToNamespace).Get(v.Ctx, "front", metav1.GetOptions{})
	v.Must(err)
	first, err := core.Services(v.ToNamespace).Get(v.Ctx, "first", metav1.GetOptions{})
	v.Must(err)
	if front.Spec.Type != corev1.ServiceTypeClusterIP || front.Spec.Ports[0].NodePort != 0 || first.Spec.ClusterIP != corev1.ClusterIPNone {
		v.T.Errorf("the Services are %+v and %+v", front.Spec, first.Spec)
	}
	password, err := core.Secrets(v.ToNamespace).Get(v.Ctx, "password", metav1.GetOptions{})
	v.Must(err)
	if string(password.Data["password"]) != "MarkedPasswordOfTheDatabase" {
		v.T.Error("the Secret is another one")
	}
	for _, name := range []string{"reader", "viewer"} {
		binding, err := v.Destination.RbacV1().RoleBindings(v.ToNamespace).Get(v.Ctx, name, metav1.GetOptions{})
		v.Must(err)
		want := rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Name: "app", Namespace: v.ToNamespace}
		if len(binding.Subjects) != 1 || binding.Subjects[0] != want {
			v.T.Errorf("RoleBinding %s is of %v", name, binding.Subjects)
		}
	}
}

// settings returns the ConfigMap of the pods on a side.
func (v *move) settings(at harness.Endpoint) (*corev1.ConfigMap, error) {
	return at.Client.CoreV1().ConfigMaps(at.Namespace).Get(v.Ctx, "settings", metav1.GetOptions{})
}

// paint changes that ConfigMap.
func (v *move) paint(at harness.Endpoint, colour string) error {
	settings, err := v.settings(at)
	if err != nil {
		return err
	}
	settings.Data = map[string]string{"colour": colour}
	_, err = at.Client.CoreV1().ConfigMaps(at.Namespace).Update(v.Ctx, settings, metav1.UpdateOptions{})
	return err
}

// expectColour checks the content of that ConfigMap at the destination.
func (v *move) expectColour(want string) {
	v.T.Helper()
	settings, err := v.settings(v.There())
	v.Must(err)
	if settings.Data["colour"] != want {
		v.T.Errorf("it is %v, not %s", settings.Data, want)
	}
}

// red creates another ConfigMap of the same name at the destination.
func (v *move) red() {
	v.T.Helper()
	v.Must(v.makeNamespace())
	_, err := v.Destination.CoreV1().ConfigMaps(v.ToNamespace).Create(v.Ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "settings"}, Data: map[string]string{"colour": "red"}}, metav1.CreateOptions{})
	v.Must(err)
}

// TestDependencyDiffers: an existing object at the destination is overwritten only on request. Without the
// request the run shows the difference and changes nothing.
func TestDependencyDiffers(t *testing.T) {
	t.Parallel()
	for policy, colour := range map[string]string{"keep": "red", "overwrite": "blue"} {
		t.Run("U-31: "+policy, func(t *testing.T) {
			t.Parallel()
			v := newMove(t, harness.Usual(1), harness.AcrossClusters, needy)
			v.red()
			out := v.exits(v.cli("run", "--copy-dependencies"), 3)
			for _, want := range []string{`-"red" +"blue"`, "--on-conflict overwrite", "ConfigMap " + v.ToNamespace + "/settings"} {
				if !strings.Contains(out, want) {
					t.Errorf("it does not say %q:\n%s", want, out)
				}
			}
			v.expectColour("red")
			v.exits(v.cli("run", "--copy-dependencies", "--on-conflict", policy), 0)
			v.expectColour(colour)
			v.ExpectMovedCleanly()
		})
	}
}

// TestDependencyChanges: a change at the source during the move is copied before the move ends. With onChange:
// Stall, the migration stalls before its end instead.
func TestDependencyChanges(t *testing.T) {
	t.Parallel()
	for name, policy := range map[string]api.ChangePolicy{"U-32: follow": api.ChangeFollow, "U-32: stall": api.ChangeStall} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := newMove(t, harness.Usual(2), harness.AcrossClusters, needy, copying(func(d *api.DependenciesSpec) { d.OnChange = policy }))
			stalled := false
			v.Run(
				harness.OnVerb(plan.ScaleUp, func() error { return v.paint(v.Here(), "green") }),
				harness.StalledWith(api.ReasonDependencyChanged)(func() error {
					stalled = true
					return v.paint(v.Here(), "blue")
				}),
			)
			if want := policy == api.ChangeStall; stalled != want {
				t.Errorf("it stalled: %t, want %t", stalled, want)
			}
			colour := map[bool]string{true: "blue", false: "green"}
			v.expectColour(colour[stalled])
			v.ExpectMovedCleanly()
		})
	}
}

// TestCopiesAreFoughtFor: repeated changes of a copy by another writer are detected and reported.
func TestCopiesAreFoughtFor(t *testing.T) {
	t.Parallel()
	v := newMove(t, harness.Usual(1), harness.AcrossClusters, needy, copying(func(d *api.DependenciesSpec) { d.OnConflict = api.ConflictOverwrite }))
	writes, named := 0, false
	v.Drive(v.Mover(), func(_ *api.Migration, outcome engine.Outcome) error {
		effect, hold := outcome.Decision.Effect, outcome.Decision.Hold
		switch {
		case outcome.Wrote && effect.Kind == "ConfigMap" && effect.Name == "settings" && !named:
			writes++
			return v.paint(v.There(), fmt.Sprint("red ", writes))
		case hold != nil && hold.Stalled && hold.Reason == api.ReasonDependencyDiffers && !named:
			named = strings.Contains(hold.Message, "was restored 3 times")
			return v.paint(v.There(), "blue")
		}
		return nil
	})
	if writes != 4 || !named {
		t.Errorf("it was written %d times; told: %t", writes, named)
	}
	v.expectColour("blue")
	v.ExpectMovedCleanly()
}

// TestCopiesGo: on request, a rollback deletes the copied objects.
func TestCopiesGo(t *testing.T) {
	t.Parallel()
	v := newMove(t, harness.Usual(1), harness.AcrossClusters, needy, copying(func(d *api.DependenciesSpec) { d.Cleanup = api.CleanupDelete }))
	mover := v.Mover()
	v.Drive(mover, harness.OnVerb(plan.ScaleUp, func() error { return mover.Store.SetMode(v.Ctx, api.ModeRollback) }))
	v.ExpectBack()
	_, to := v.clients()
	for _, object := range needed(v.Move) {
		there := &unstructured.Unstructured{}
		there.SetGroupVersionKind(object.GroupVersionKind())
		if err := to.Get(v.Ctx, client.ObjectKey{Namespace: v.ToNamespace, Name: object.GetName()}, there); !apierrors.IsNotFound(err) {
			t.Errorf("%s %s is still there: %v", object.GetKind(), object.GetName(), err)
		}
	}
	v.Audit()
}

// TestCopyOfOthers: a copy that a foreign pod uses is not deleted before that pod is deleted.
func TestCopyOfOthers(t *testing.T) {
	t.Parallel()
	v := newMove(t, harness.Usual(1), harness.AcrossClusters, needy, copying(func(d *api.DependenciesSpec) { d.Cleanup = api.CleanupDelete }))
	pods := v.There().Client.CoreV1().Pods(v.ToNamespace)
	report := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "report"}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Image: "app:1", EnvFrom: []corev1.EnvFromSource{
		{ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "settings"}}},
	}}}}}
	mover, named, deleted := v.Mover(), false, false
	v.Drive(mover, func(_ *api.Migration, outcome engine.Outcome) error {
		effect, hold := outcome.Decision.Effect, outcome.Decision.Hold
		switch {
		case outcome.Wrote && effect.Verb == plan.ScaleUp && effect.Side == plan.DestinationSide:
			if _, err := pods.Create(v.Ctx, report, metav1.CreateOptions{}); err != nil {
				return err
			}
			return mover.Store.SetMode(v.Ctx, api.ModeRollback)
		case outcome.Wrote && effect.Verb == plan.DeleteCopy && !named:
			deleted = true
		case hold != nil && hold.Stalled && hold.Reason == api.ReasonDependencyUsed && !named:
			named = strings.Contains(hold.Message, "pod "+v.ToNamespace+"/report in cluster")
			return pods.Delete(v.Ctx, "report", metav1.DeleteOptions{})
		}
		return nil
	})
	if !named || deleted {
		t.Errorf("told: %t; something was deleted before: %t", named, deleted)
	}
	v.ExpectBack()
	v.Audit()
}

// TestCopiesAreRead: copied objects are read before the first ordinal and at the end, not for each ordinal.
func TestCopiesAreRead(t *testing.T) {
	t.Parallel()
	const ordinals = 4
	v := newMove(t, harness.Usual(ordinals), harness.AcrossClusters, needy, copying(nil))
	r := &readings{of: "/secrets/"}
	begin := time.Now()
	mover, err := fixture.NewMover(v.Ctx, r.counting(v.From.RESTConfig()), r.counting(v.To.RESTConfig()), v.Migration)
	v.Must(err)
	v.Drive(mover, r.take)
	v.Audit()
	with := 0
	for _, n := range r.handoffs {
		if n > 0 {
			with++
		}
	}
	t.Logf("Secrets are read %d times at the start, %v for the handoffs, %d at the end", r.start, r.handoffs, r.end)
	if now := int(time.Since(begin) / world.CopiesSeenFor); with > now || r.start == 0 || r.end == 0 {
		t.Errorf("for %d handoffs, and they are looked at again %d times in so long", with, now)
	}
}

// TestStrangersAreNotSelected: a run is refused if a copied Service would also select foreign pods at the
// destination. With --selects-others leave, the Service is not copied.
func TestStrangersAreNotSelected(t *testing.T) {
	t.Parallel()
	unbounded := harness.Usual(1)
	unbounded.MaxUnavailable = nil // a PodDisruptionBudget would also select the stranger
	v := newMove(t, unbounded, harness.AcrossClusters, needy)
	v.Must(v.makeNamespace())
	v.Eventually("a pod of somebody else is there", func(ctx context.Context) (bool, error) {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "stranger", Labels: v.App.Budget().Spec.Selector.MatchLabels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Image: "app:1"}}}}
		_, err := v.Destination.CoreV1().Pods(v.ToNamespace).Create(ctx, pod, metav1.CreateOptions{})
		return err == nil, nil // at first the namespace has no default ServiceAccount
	})
	out := v.exits(v.cli("run", "--copy-dependencies"), 3)
	if !strings.Contains(out, "stranger") || !strings.Contains(out, "--selects-others") {
		t.Errorf("it does not name the pod:\n%s", out)
	}
	v.exits(v.cli("run", "--copy-dependencies", "--selects-others", "leave"), 0)
	if _, err := v.Destination.CoreV1().Services(v.ToNamespace).Get(context.Background(), "front", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("the Service was copied: %v", err)
	}
}
