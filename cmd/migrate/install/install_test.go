package install

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilclock "k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	slicesapi "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/cmd/migrate/command"
	"github.com/sliceshift/sliceshift/cmd/migrate/commandtest"
	"github.com/sliceshift/sliceshift/internal/clusters"
	"github.com/sliceshift/sliceshift/internal/golden"
	"github.com/sliceshift/sliceshift/internal/shell"
)

// newConsole returns a process with the commands of this package.
func newConsole(args ...string) *commandtest.Console { return commandtest.New(Commands, args...) }

// TestInstallPrints: the command prints the manifests that it would apply. The content of resource definitions, roles
// and policies is tested in package config.
func TestInstallPrints(t *testing.T) {
	for name, args := range map[string][]string{
		"install.yaml":         {"--image", "registry.example.com/manager:v1"},
		"install_bounded.yaml": {"--image", "registry.example.com/manager:v1", "--impersonation", "constrained"},
		"install_fence.yaml":   {"--crds-only", "--fence"},
		"install_moved.yaml":   {"--image", "registry.example.com/manager:v1", "-n", "movers", "--guard-volumes"},
		"install_without.yaml": {"--crds-only", "--check-authors=false", "--guard-volumes=false"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, asks := range [][]string{{"--print"}, {"--print", "-o", "yaml"}, {"--dry-run=client", "-o", "yaml"}} {
				c := newConsole(slices.Concat([]string{"install", "--kubeconfig", "/nowhere"}, asks, args)...) // contacts no cluster
				if code := c.Run(t); code != command.ExitDone {
					t.Fatalf("%v: exit code %d: %s", asks, code, c.Stderr)
				}
				golden.Compare(t, name, abridged(c.Stdout.String()))
			}
		})
	}
}

// abridged removes the content of resource definitions, roles and policies.
func abridged(stream string) string {
	documents := strings.Split(stream, "---\n")
	for i, document := range documents {
		for kind, body := range map[string]string{"CustomResourceDefinition": "spec:\n", "ClusterRole": "rules:\n", "Role": "rules:\n", "ValidatingAdmissionPolicy": "spec:\n"} {
			if strings.Contains(document, "\nkind: "+kind+"\n") {
				documents[i], _, _ = strings.Cut(document, body)
			}
		}
	}
	return strings.Join(documents, "---\n")
}

// TestInstallPolicies: the flags decide which admission policies are applied or deleted.
func TestInstallPolicies(t *testing.T) {
	for name, tc := range map[string]struct {
		args []string
		want []desired // authors, fence, volumes
	}{
		"nothing said":      {nil, []desired{applied, unchanged, unchanged}},
		"all":               {[]string{"--check-authors", "--fence", "--guard-volumes"}, []desired{applied, applied, applied}},
		"none":              {[]string{"--check-authors=false", "--fence=false", "--guard-volumes=false"}, []desired{removed, removed, removed}},
		"definitions":       {[]string{"--crds-only"}, []desired{unchanged, unchanged, unchanged}},
		"definitions, all":  {[]string{"--crds-only", "--check-authors", "--fence", "--guard-volumes"}, []desired{applied, applied, applied}},
		"definitions, none": {[]string{"--crds-only", "--check-authors=false"}, []desired{removed, unchanged, unchanged}},
	} {
		t.Run(name, func(t *testing.T) {
			c := newConsole()
			o := &installOptions{Common: command.NewCommon(c.Environment)}
			cmd := newInstallOf(o)
			if err := cmd.ParseFlags(tc.args); err != nil {
				t.Fatal(err)
			}
			if err := o.Complete(cmd, nil); err != nil {
				t.Fatal(err)
			}
			var got []desired
			for _, policy := range o.policies(&parts{}) {
				got = append(got, policy.want)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("authors, fence, volumes (-want +got):\n%s", diff)
			}
		})
	}
}

// TestInstallOnAnOldCluster: a default policy is skipped with a message if the cluster does not support it. A policy
// requested by a flag is an error.
func TestInstallOnAnOldCluster(t *testing.T) {
	for name, asked := range map[string]bool{"by default": false, "asked for": true} {
		t.Run(name, func(t *testing.T) {
			unknown := &meta.NoKindMatchError{GroupKind: schema.GroupKind{Group: "admissionregistration.k8s.io", Kind: "ValidatingAdmissionPolicy"}}
			at := newInstallation(t, interceptor.Funcs{
				Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
					return unknown
				},
			})
			all, err := embedded(defaultNamespace, false)
			if err != nil {
				t.Fatal(err)
			}
			err = policy{objects: all.authors, want: applied, asked: asked}.settle(t.Context(), at.target)
			if asked && (err == nil || !strings.Contains(err.Error(), "Kubernetes 1.30")) {
				t.Errorf("got %v", err)
			}
			if !asked && (err != nil || !strings.Contains(at.out.String(), "sliceshift-authors left out: cluster east is older than Kubernetes 1.30")) {
				t.Errorf("got %v, said %q", err, at.out)
			}
		})
	}
}

func TestInstallUsage(t *testing.T) {
	for name, tc := range map[string]struct {
		args []string
		want string
	}{
		"an argument":              {[]string{"install", "web"}, "takes no arguments"},
		"no time":                  {[]string{"install", "--timeout", "0s"}, "must be above 0"},
		"output of what":           {[]string{"install", "-o", "yaml"}, "--output is for --print"},
		"server dry run":           {[]string{"install", "--dry-run=server"}, "none, client"},
		"image of what":            {[]string{"install", "--crds-only", "--image", "a"}, "--image is for the manager"},
		"uninstall, an argument":   {[]string{"uninstall", "web"}, "takes no arguments"},
		"paused, and all of it":    {[]string{"uninstall", "--crds", "--paused"}, "exclude each other"},
		"uninstall, a past moment": {[]string{"uninstall", "--timeout", "-1s"}, "must be above 0"},
	} {
		t.Run(name, func(t *testing.T) {
			c := newConsole(tc.args...)
			if code := c.Run(t); code != command.ExitUsage || !strings.Contains(c.Stderr.String(), tc.want) {
				t.Errorf("exit code %d, want 2 and %q:\n%s", code, tc.want, c.Stderr)
			}
		})
	}
}

func TestChanges(t *testing.T) {
	at := func(spec any) map[string]any {
		return map[string]any{"metadata": map[string]any{"name": "a", "resourceVersion": fmt.Sprint(spec)}, "spec": spec, "status": spec}
	}
	many := map[string]any{}
	for i := range 10 {
		many[fmt.Sprintf("k%d", i)] = int64(i)
	}
	for name, tc := range map[string]struct {
		before, after any
		want          []string
	}{
		"nothing":        {map[string]any{"a": int64(1)}, map[string]any{"a": int64(1)}, nil},
		"a value":        {map[string]any{"a": "x"}, map[string]any{"a": "y"}, []string{"spec.a: x -> y"}},
		"in a list":      {map[string]any{"a": []any{"x", true}}, map[string]any{"a": []any{"x", false}}, []string{"spec.a[1]: true -> false"}},
		"a longer list":  {map[string]any{"a": []any{"x"}}, map[string]any{"a": []any{"x", "y"}}, []string{`spec.a: ["x"] -> ["x","y"]`}},
		"more, and less": {map[string]any{"a": "x"}, map[string]any{"b": "y"}, []string{"spec.a: x -> none", "spec.b: none -> y"}},
		"another type":   {map[string]any{"a": "x"}, map[string]any{"a": map[string]any{"b": int64(1)}}, []string{`spec.a: x -> {"b":1}`}},
		"too many": {map[string]any{}, many, []string{
			"spec.k0: none -> 0", "spec.k1: none -> 1", "spec.k2: none -> 2", "spec.k3: none -> 3",
			"spec.k4: none -> 4", "spec.k5: none -> 5", "spec.k6: none -> 6", "spec.k7: none -> 7", "and 2 more",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, changes(at(tc.before), at(tc.after))); diff != "" {
				t.Errorf("changes (-want +got):\n%s", diff)
			}
		})
	}
}

// installation returns a target without a cluster.
type installation struct {
	*target
	out *bytes.Buffer
}

func newInstallation(t *testing.T, calls interceptor.Funcs, objects ...client.Object) installation {
	t.Helper()
	scheme := clusters.NewScheme()
	if err := rbacv1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	out := &bytes.Buffer{}
	c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).WithInterceptorFuncs(calls).Build()
	return installation{&target{cluster: "east", kubectl: shell.Kubectl{Flags: "--context east"}, client: c, version: func(context.Context) (string, error) { return "v1.36.3", nil }, out: out, clock: utilclock.RealClock{}, timeout: time.Minute}, out}
}

// managerIn returns the binding by which an installed manager is found.
func managerIn(namespace string) client.Object {
	return &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "sliceshift-manager"},
		Subjects:   []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: namespace, Name: "sliceshift-manager"}},
	}
}

func installOf(t *testing.T, namespace string) *installOptions {
	t.Helper()
	return &installOptions{Common: command.NewCommon(newConsole().Environment), namespace: namespace, impersonation: command.NewChoice(automatic)}
}

func TestInstallRefusesASecondManager(t *testing.T) {
	at := newInstallation(t, interceptor.Funcs{}, managerIn("movers"))
	err := installOf(t, "elsewhere").apply(t.Context(), at.target)
	if command.ExitCode(err) != command.ExitStalled || !strings.Contains(err.Error(), "namespace movers already") {
		t.Errorf("got %v", err)
	}
	if at.out.Len() > 0 {
		t.Errorf("something was done:\n%s", at.out)
	}
}

// TestInstallExplains: for each error of the API server the message has a remedy.
func TestInstallExplains(t *testing.T) {
	gr := schema.GroupResource{Group: "apps", Resource: "deployments"}
	for name, tc := range map[string]struct {
		err  error
		want string
	}{
		"conflict":  {apierrors.NewConflict(gr, "a", errors.New("kubectl has it")), "--force-conflicts"},
		"forbidden": {apierrors.NewForbidden(gr, "a", errors.New("no")), "cluster-admin"},
		"too old":   {&meta.NoKindMatchError{}, "Kubernetes 1.30"},
		"away":      {errors.New("connection refused"), "check that it runs"},
	} {
		t.Run(name, func(t *testing.T) {
			at := newInstallation(t, interceptor.Funcs{
				Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
					return apierrors.NewNotFound(gr, "a")
				},
				Apply: func(context.Context, client.WithWatch, runtime.ApplyConfiguration, ...client.ApplyOption) error {
					return tc.err
				},
			})
			object := &unstructured.Unstructured{}
			object.SetGroupVersionKind(schema.GroupVersionKind{Group: "admissionregistration.k8s.io", Version: "v1", Kind: "ValidatingAdmissionPolicy"})
			object.SetName("sliceshift-fence")
			err := at.apply(t.Context(), object)
			if err == nil || !strings.Contains(err.Error(), tc.want) || !strings.Contains(err.Error(), "cluster east: ") {
				t.Errorf("got %v, want %q", err, tc.want)
			}
		})
	}
}

// TestTitleOf: an object is named as in kubectl, and all objects of a kind by the kind.
func TestTitleOf(t *testing.T) {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(schema.GroupVersionKind{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "ClusterRoleBinding"})
	if got := titleOf(object); got != "clusterrolebindings.rbac.authorization.k8s.io" {
		t.Errorf("all of them are %s", got)
	}
	object.SetName("a")
	if got := titleOf(object); got != "clusterrolebinding.rbac.authorization.k8s.io/a" {
		t.Errorf("one is %s", got)
	}
}

// TestForeignNamespace: a namespace that existed before the installation is neither labelled nor deleted.
func TestForeignNamespace(t *testing.T) {
	at := newInstallation(t, interceptor.Funcs{}, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "movers"}})
	all, err := embedded("movers", false)
	if err != nil {
		t.Fatal(err)
	}
	namespace := find(all.manager, "Namespace")
	for _, do := range []func(context.Context, *unstructured.Unstructured) error{at.apply, at.remove} {
		if err := do(t.Context(), namespace.DeepCopy()); err != nil {
			t.Fatal(err)
		}
	}
	have := &corev1.Namespace{}
	if err := at.client.Get(t.Context(), client.ObjectKey{Name: "movers"}, have); err != nil || len(have.Labels) > 0 {
		t.Errorf("labels %v, %v", have.Labels, err)
	}
	if want := "namespace/movers stays: the installation did not create it\n"; at.out.String() != want {
		t.Errorf("said %q", at.out)
	}
}

// TestAwaitAvailable: the timeout error states why the manager is not available.
func TestAwaitAvailable(t *testing.T) {
	labels := map[string]string{"app": "manager"}
	deployment := &appsv1.Deployment{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "sliceshift-manager"},
		Spec:       appsv1.DeploymentSpec{Replicas: ptr.To[int32](2), Selector: &metav1.LabelSelector{MatchLabels: labels}},
		Status:     appsv1.DeploymentStatus{Replicas: 2, UpdatedReplicas: 2, AvailableReplicas: 1},
	}
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "m-1", Labels: labels},
		Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{
			State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ErrImagePull", Message: "no such image"}},
		}}},
	}
	at := newInstallation(t, interceptor.Funcs{}, deployment, pod)
	at.timeout = 100 * time.Millisecond
	ctx, cancel := at.within(t.Context())
	defer cancel()
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(deployment)
	if err != nil {
		t.Fatal(err)
	}
	err = at.awaitAvailable(ctx, &unstructured.Unstructured{Object: content})
	const want = "1 of 2 replicas of the manager are available; pod m-1: ErrImagePull: no such image"
	if command.ExitCode(err) != command.ExitTimeout || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %q", err, want)
	}
	if got := at.out.String(); got != "waiting: "+want+"\n" {
		t.Errorf("said %q", got)
	}
}

// TestUninstallChecks: uninstall refuses while objects need the manager, or would be deleted with the definitions.
func TestUninstallChecks(t *testing.T) {
	begun := &api.Migration{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}, Status: api.MigrationStatus{Baseline: &api.Baseline{}}}
	completed := begun.DeepCopy()
	meta.SetStatusCondition(&completed.Status.Conditions, metav1.Condition{Type: api.ConditionCompleted, Status: metav1.ConditionTrue, Reason: api.ReasonMoved})
	slice := &slicesapi.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "db"}}
	paused := begun.DeepCopy()
	paused.Generation, paused.Spec.Mode, paused.Status.Moved, paused.Status.Total = 2, api.ModePause, 2, 5
	meta.SetStatusCondition(&paused.Status.Conditions, metav1.Condition{Type: api.ConditionProgressing, Status: metav1.ConditionFalse, Reason: api.ReasonPaused, ObservedGeneration: 2})
	for name, tc := range map[string]struct {
		objects []client.Object
		crds    bool
		want    string
	}{
		"paused":                         {[]client.Object{paused}, false, "pause them, which starts every ordinal that is down, and then: migrate uninstall --paused"},
		"nothing":                        {nil, true, ""},
		"in progress":                    {[]client.Object{begun}, false, "migrations are in progress: shop/web; "},
		"completed":                      {[]client.Object{completed}, false, ""},
		"completed, and the definitions": {[]client.Object{completed}, true, "would delete these: Migration shop/web; "},
		"a slice":                        {[]client.Object{slice}, false, ""},
		"a slice, and the definitions":   {[]client.Object{slice}, true, "would delete these: StatefulSet shop/db; "},
	} {
		t.Run(name, func(t *testing.T) {
			at := newInstallation(t, interceptor.Funcs{}, tc.objects...)
			o := &uninstallOptions{Common: command.NewCommon(newConsole().Environment), crds: tc.crds}
			err := o.check(t.Context(), at.target)
			if (err == nil) != (tc.want == "") || err != nil && (command.ExitCode(err) != command.ExitStalled || !strings.Contains(err.Error(), tc.want)) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
		})
	}
}

// TestUninstallPaused: uninstall leaves a paused migration and prints how to continue it. It refuses while an ordinal is
// in flight.
func TestUninstallPaused(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*api.Migration)
		stays  bool
	}{
		"at rest":                    {func(*api.Migration) {}, true},
		"an ordinal is on its way":   {func(m *api.Migration) { m.Status.Handoff = &api.Handoff{Ordinal: 2} }, false},
		"it has not noticed yet":     {func(m *api.Migration) { m.Generation++ }, false},
		"it is to go on":             {func(m *api.Migration) { m.Spec.Mode = api.ModeRun }, false},
		"it waits for another thing": {func(m *api.Migration) { m.Status.Conditions[0].Reason = api.ReasonMoving }, false},
	} {
		t.Run(name, func(t *testing.T) {
			m := &api.Migration{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", Generation: 2}}
			m.Spec.Mode = api.ModePause
			m.Status = api.MigrationStatus{Baseline: &api.Baseline{}, Moved: 2, Total: 5, Conditions: []metav1.Condition{{
				Type: api.ConditionProgressing, Status: metav1.ConditionFalse, Reason: api.ReasonPaused, ObservedGeneration: 2,
			}}}
			tc.change(m)
			at := newInstallation(t, interceptor.Funcs{}, m)
			o := &uninstallOptions{Common: command.NewCommon(newConsole().Environment), paused: true}
			err := o.check(t.Context(), at.target)
			if (err == nil) != tc.stays {
				t.Errorf("got %v", err)
			}
			said := ""
			if tc.stays {
				said = "migration shop/web is paused, with 2 of 5 moved; to continue it: migrate install, and migrate resume web -n shop\n"
			}
			if got := at.out.String(); got != said {
				t.Errorf("said %q, want %q", got, said)
			}
		})
	}
}
