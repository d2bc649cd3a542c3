package move

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/config"
	"github.com/sliceshift/sliceshift/e2e/child"
	"github.com/sliceshift/sliceshift/e2e/cluster"
	"github.com/sliceshift/sliceshift/e2e/harness"
	"github.com/sliceshift/sliceshift/migration/plan"
)

// bare is an empty cluster of one test.
type bare struct {
	*cluster.Cluster
	t      *testing.T
	client client.Client
}

func startBare(t *testing.T, name string, options cluster.Options) *bare {
	t.Helper()
	options.Name = name
	c, err := cluster.Start(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	c.StopAfter(t)
	b := &bare{Cluster: c, t: t}
	if b.client, err = harness.Client(c); err != nil {
		t.Fatal(err)
	}
	return b
}

// migrate runs the command on the cluster and returns its output.
func (b *bare) migrate(wantCode int, args ...string) string {
	b.t.Helper()
	var out bytes.Buffer
	cmd := exec.CommandContext(b.t.Context(), harness.Program(b.t, "migrate"), append(args, "--kubeconfig", b.Kubeconfig())...)
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := child.Start(cmd); err != nil {
		b.t.Fatal(err)
	}
	if code := codeOf(cmd.Wait()); code != wantCode {
		b.t.Fatalf("%s ended with %d, want %d:\n%s", strings.Join(args, " "), code, wantCode, out.String())
	}
	return out.String()
}

func (b *bare) says(text string, wants ...string) {
	b.t.Helper()
	for _, want := range wants {
		if !strings.Contains(text, want) {
			b.t.Errorf("it does not say %q:\n%s", want, text)
		}
	}
}

// versions returns the resourceVersions of all installable objects that exist. Where an object has a
// generation, versions uses that instead, which ignores updates of the status.
func (b *bare) versions() map[string]string {
	b.t.Helper()
	objects, err := config.ConstrainedObjects()
	if err != nil {
		b.t.Fatal(err)
	}
	for _, read := range []func() ([]*unstructured.Unstructured, error){config.FenceObjects, config.AuthorObjects, config.VolumeObjects} {
		policies, err := read()
		if err != nil {
			b.t.Fatal(err)
		}
		objects = append(objects, policies...)
	}
	found := map[string]string{}
	for _, object := range objects {
		have := &unstructured.Unstructured{}
		have.SetGroupVersionKind(object.GroupVersionKind())
		err := b.client.Get(b.t.Context(), client.ObjectKeyFromObject(object), have)
		switch {
		case apierrors.IsNotFound(err):
			continue
		case err != nil:
			b.t.Fatal(err)
		}
		version := have.GetResourceVersion()
		if generation := have.GetGeneration(); generation > 0 {
			version = fmt.Sprint("generation ", generation)
		}
		found[object.GetKind()+" "+object.GetName()] = version
	}
	return found
}

// TestInstall installs into an empty cluster, moves an application with the installed manager's account and the
// fence, and uninstalls everything.
func TestInstall(t *testing.T) {
	t.Parallel()
	b := startBare(t, "install", cluster.Options{})
	b.installs()
	b.updates()
	b.keepsWhatOthersChanged()
	b.fences()
	b.guards()
	b.moves()
	b.uninstalls()
}

func (b *bare) installs() {
	b.t.Helper()
	out := b.migrate(0, "install", "--image", "example.com/manager:1")
	b.says(out, "migrations.migration.sliceshift.io created", "deployment.apps/sliceshift-manager created", " created\n")
	before := b.versions()
	if len(before) == 0 || before["Deployment sliceshift-manager"] == "" {
		b.t.Fatalf("nothing is there: %v", before)
	}
	for policy, want := range map[string]bool{"sliceshift-authors": true, "sliceshift-fence": false, "sliceshift-snapshots": false, "sliceshift-volumes": false} {
		if there := before["ValidatingAdmissionPolicy "+policy] != ""; there != want {
			b.t.Errorf("policy %s is there: %t, without a flag", policy, there)
		}
	}
	b.says(b.migrate(0, "install"), "deployment.apps/sliceshift-manager unchanged", ": nothing to do\n")
	b.same(before)
}

// same checks that no object was written since.
func (b *bare) same(before map[string]string) {
	b.t.Helper()
	for name, version := range b.versions() {
		if before[name] != version {
			b.t.Errorf("%s was written: %s, before %s", name, version, before[name])
		}
	}
}

func (b *bare) updates() {
	b.t.Helper()
	out := b.migrate(0, "install", "--image", "example.com/manager:2")
	b.says(out, "deployment.apps/sliceshift-manager changed\n", "spec.template.spec.containers[0].image: example.com/manager:1 -> example.com/manager:2", "1 changed, ")
	b.says(b.migrate(3, "install", "-n", "elsewhere"), "sliceshift-system already")
}

func (b *bare) keepsWhatOthersChanged() {
	b.t.Helper()
	deployment := &unstructured.Unstructured{}
	deployment.SetAPIVersion("apps/v1")
	deployment.SetKind("Deployment")
	deployment.SetNamespace("sliceshift-system")
	deployment.SetName("sliceshift-manager")
	patch := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"replicas":1}}`))
	if err := b.client.Patch(b.t.Context(), deployment, patch, client.FieldOwner("somebody")); err != nil {
		b.t.Fatal(err)
	}
	b.says(b.migrate(1, "install"), `conflict with "somebody"`, "--force-conflicts")
	b.says(b.migrate(0, "install", "--force-conflicts"), "spec.replicas: 1 -> 2")
}

func (b *bare) fences() {
	b.t.Helper()
	b.says(b.migrate(0, "install", "--fence"), "validatingadmissionpolicy.admissionregistration.k8s.io/sliceshift-fence created", "6 created")
	before := b.versions()
	b.says(b.migrate(0, "install", "--fence"), ": nothing to do\n")
	b.same(before)
	b.says(b.migrate(0, "install", "--fence=false"), "6 deleted")
	b.migrate(0, "install", "--fence")
	b.says(b.migrate(0, "install"), ": nothing to do\n") // the fence remains
	b.same(b.versions())
}

// guards installs and removes the other policies.
func (b *bare) guards() {
	b.t.Helper()
	b.says(b.migrate(0, "install", "--guard-volumes"), "sliceshift-snapshots created", "sliceshift-volumes created", "no mover is limited until a ConfigMap", "4 created")
	b.says(b.migrate(0, "install"), ": nothing to do\n") // they remain
	b.says(b.migrate(0, "install", "--guard-volumes=false"), "4 deleted")
	b.says(b.migrate(0, "install", "--check-authors=false"), "sliceshift-authors deleted", "sliceshift-rehearsals deleted", "4 deleted")
	b.says(b.migrate(0, "install", "--check-authors=false"), ": nothing to do\n")
	b.says(b.migrate(0, "install", "--crds-only"), ": nothing to do\n")
	b.says(b.migrate(0, "install", "--guard-volumes"), "the author of a Migration must now be allowed to impersonate", "8 created")
}

// moves runs the manager with a token of the installed account and moves an application. During the move,
// uninstall is refused.
func (b *bare) moves() {
	b.t.Helper()
	v := newMove(b.t, harness.Usual(3), within(b.Cluster))
	v.Grant(v.Source, rbacv1.Subject{Kind: "ServiceAccount", Namespace: v.App.Namespace, Name: "default"})
	startManagerWith(b.t, b.accountKubeconfig("sliceshift-system", "sliceshift-manager"), v.App.Namespace)
	v.Must(b.client.Create(v.Ctx, v.Migration))
	v.awaitFewer(3)
	b.says(b.migrate(3, "uninstall"), "in progress: "+v.App.Namespace+"/web", "rollback")
	v.Await(b.client, api.ConditionCompleted, metav1.ConditionTrue)
	v.ExpectMovedCleanly()
	v.Must(b.client.Delete(v.Ctx, v.Migration))
	v.Eventually("the Migration is gone", harness.Gone(b.client, v.Migration))
}

// within moves to another namespace of a cluster.
func within(c *cluster.Cluster) harness.Setting {
	return func(v *harness.Move) { v.From, v.To, v.ToNamespace = c, c, v.App.Namespace+"-new" }
}

// accountKubeconfig returns a kubeconfig with a token of a ServiceAccount.
func (b *bare) accountKubeconfig(namespace, name string) string {
	b.t.Helper()
	rest, kubeconfig := b.RESTConfig(), clientcmdapi.NewConfig()
	kubeconfig.Clusters["c"] = &clientcmdapi.Cluster{Server: rest.Host, CertificateAuthorityData: rest.CAData}
	kubeconfig.AuthInfos["u"] = &clientcmdapi.AuthInfo{Token: tokenOf(b.t, b.client, namespace, name)}
	kubeconfig.Contexts["x"] = &clientcmdapi.Context{Cluster: "c", AuthInfo: "u"}
	kubeconfig.CurrentContext = "x"
	path := filepath.Join(b.t.TempDir(), name)
	if err := clientcmd.WriteToFile(*kubeconfig, path); err != nil {
		b.t.Fatal(err)
	}
	return path
}

func startManagerWith(t *testing.T, kubeconfig, namespace string) {
	t.Helper()
	m := harness.ManagerWith(t, kubeconfig, namespace, "manager.log")
	m.Run()
}

func (b *bare) uninstalls() {
	b.t.Helper()
	b.says(b.migrate(0, "uninstall"), "deployment.apps/sliceshift-manager deleted", "namespace/sliceshift-system deleted")
	if left := b.versions(); len(left) > 0 {
		b.t.Errorf("left are %v", left)
	}
	b.says(b.migrate(0, "uninstall"), "migrations.migration.sliceshift.io stays: its deletion deletes every Migration of migration.sliceshift.io in the cluster",
		"statefulsets.apps.sliceshift.io stays: its deletion deletes every StatefulSet of apps.sliceshift.io", "evacuations.migration.sliceshift.io stays", "migrate uninstall --crds\n", ": 3 left\n")
	if err := b.client.List(b.t.Context(), &api.MigrationList{}); err != nil {
		b.t.Errorf("the definitions went, too: %v", err)
	}
	b.says(b.migrate(0, "uninstall", "--crds"), "3 deleted")
	b.says(b.migrate(0, "uninstall", "--crds"), "nothing to do")
}

// TestFence: other writers cannot scale a StatefulSet that a migration holds. The refusal names the migration
// and the remedy. The migration itself is not blocked, and after its end any user may scale.
func TestFence(t *testing.T) {
	t.Parallel()
	b := startBare(t, "fence", cluster.Options{})
	b.migrate(0, "install", "--crds-only", "--fence")
	v := newMove(t, harness.Usual(3), within(b.Cluster))
	mover := v.Mover()
	held := func() error {
		v.expectHeld(b, v.Here())
		v.expectHeld(b, v.There())
		return nil
	}
	v.Drive(mover, harness.OnVerb(plan.ScaleDown, held), harness.OnVerb(plan.ScaleUp, held))
	v.ExpectMovedCleanly()
	if out, err := v.kubectlScale(b, v.There(), 4); err != nil {
		t.Errorf("after the end: %s", out)
	}
	v.holdsSlices(b)
}

// holdsSlices repeats the test, also with reserveOrdinals (G17), with a StatefulSet of our own kind. No
// controller runs, since the API server enforces the fence. The API server discovers new kinds only every 30 s,
// and refuses to scale our kind until it knows it.
func (v *move) holdsSlices(b *bare) {
	v.T.Helper()
	spec, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&v.App.StatefulSet().Spec)
	v.Must(err)
	set := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	set.SetAPIVersion(slice)
	set.SetKind("StatefulSet")
	set.SetNamespace(v.App.Namespace)
	set.SetName("slice")
	set.SetAnnotations(map[string]string{api.FenceAnnotationKey: "somebody.1"})
	v.Must(b.client.Create(v.Ctx, set))
	scale := func(ctx context.Context) error {
		out, err := b.Kubectl(ctx, "scale", "statefulsets.apps.sliceshift.io/slice", "-n", v.App.Namespace, "--replicas=7").CombinedOutput()
		if err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
		return nil
	}
	v.Eventually("the scale of a slice is refused", func(ctx context.Context) (bool, error) {
		err := scale(ctx)
		if err == nil {
			return false, errors.New("it was let through")
		}
		return strings.Contains(err.Error(), "migration with UID somebody"), nil
	})
	patch := func(body, manager string) error {
		return b.client.Patch(v.Ctx, set.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(body)), client.FieldOwner(manager))
	}
	for _, body := range []string{`{"spec":{"replicas":7}}`, `{"spec":{"reserveOrdinals":[1]}}`} {
		if err := patch(body, "kubectl-edit"); !apierrors.IsForbidden(err) {
			v.T.Errorf("a patch of a slice to %s: got %v, want it to be forbidden", body, err)
		}
	}
	v.Must(patch(`{"spec":{"reserveOrdinals":["1-2"]}}`, api.FieldManager))
	v.Must(patch(`{"spec":{"reserveOrdinals":null}}`, "kubectl-patch")) // the remedy of a stalled migration
	v.Must(patch(`{"spec":{"replicas":6,"ordinals":{"start":1}}}`, api.FieldManager))
	v.Must(patch(`{"metadata":{"annotations":{"`+api.FenceAnnotationKey+`":null}}}`, "kubectl-annotate"))
	v.Eventually("it is let go", func(ctx context.Context) (bool, error) { return scale(ctx) == nil, nil })
}

// kubectlScale scales with kubectl scale.
func (v *move) kubectlScale(b *bare, at harness.Endpoint, replicas int) (string, error) {
	out, err := b.Kubectl(v.Ctx, "scale", "statefulset", at.Set, "-n", at.Namespace, fmt.Sprintf("--replicas=%d", replicas)).CombinedOutput()
	return string(out), err
}

// expectHeld checks that every way of scaling is refused and that harmless writes are allowed.
func (v *move) expectHeld(b *bare, at harness.Endpoint) {
	v.T.Helper()
	set, err := at.Client.AppsV1().StatefulSets(at.Namespace).Get(v.Ctx, at.Set, metav1.GetOptions{})
	v.Must(err)
	uid, _, _ := strings.Cut(set.Annotations[api.FenceAnnotationKey], ".")
	refused := func(way, answer string) {
		for _, want := range []string{"StatefulSet " + at.Namespace + "/" + at.Set, "migration with UID " + uid, "kubectl migrate pause", "kubectl migrate rollback", "--resume-uid " + uid} {
			if !strings.Contains(answer, want) {
				v.T.Errorf("%s: %q is not said in: %s", way, want, answer)
			}
		}
	}
	out, err := v.kubectlScale(b, at, 7)
	if err == nil {
		v.T.Error("kubectl scale was let through")
	}
	refused("kubectl scale", out)
	for way, write := range v.foreignWrites(at) {
		err := write(v.Ctx)
		if !apierrors.IsForbidden(err) {
			v.T.Errorf("%s: got %v, want it to be forbidden", way, err)
			continue
		}
		refused(way, err.Error())
	}
	for way, write := range v.harmlessWrites(at) {
		if err := write(v.Ctx); err != nil {
			v.T.Errorf("%s: %v", way, err)
		}
	}
}

// write sends one request.
type write func(context.Context) error

// foreignWrites returns writes that would start or stop pods.
func (v *move) foreignWrites(at harness.Endpoint) map[string]write {
	sets := at.Client.AppsV1().StatefulSets(at.Namespace)
	patch := func(kind types.PatchType, manager, body string) write {
		return func(ctx context.Context) error {
			options := metav1.PatchOptions{FieldManager: manager}
			if kind == types.ApplyPatchType {
				options.Force = new(true)
			}
			_, err := sets.Patch(ctx, at.Set, kind, []byte(body), options)
			return err
		}
	}
	return map[string]write{
		"an autoscaler": func(ctx context.Context) error {
			scale, err := sets.GetScale(ctx, at.Set, metav1.GetOptions{})
			if err != nil {
				return err
			}
			scale.Spec.Replicas = 7
			_, err = sets.UpdateScale(ctx, at.Set, scale, metav1.UpdateOptions{FieldManager: "sliceshift"})
			return err
		},
		"kubectl edit":    patch(types.StrategicMergePatchType, "kubectl-edit", `{"spec":{"replicas":7}}`),
		"a first ordinal": patch(types.MergePatchType, "kubectl-patch", `{"spec":{"ordinals":{"start":5}}}`),
		"GitOps": patch(types.ApplyPatchType, "argocd-controller",
			fmt.Sprintf(`{"apiVersion":"apps/v1","kind":"StatefulSet","metadata":{"name":%q},"spec":{"replicas":7}}`, at.Set)),
		"kubectl replace": func(ctx context.Context) error {
			set, err := sets.Get(ctx, at.Set, metav1.GetOptions{})
			if err != nil {
				return err
			}
			set.ResourceVersion, set.Annotations, set.Spec.Replicas = "", nil, new(int32(7))
			_, err = sets.Update(ctx, set, metav1.UpdateOptions{FieldManager: "kubectl-replace"})
			return err
		},
	}
}

// harmlessWrites returns dry-run writes of others that the fence allows, including a deliberate release.
func (v *move) harmlessWrites(at harness.Endpoint) map[string]write {
	sets := at.Client.AppsV1().StatefulSets(at.Namespace)
	patch := func(manager, body string) write {
		return func(ctx context.Context) error {
			_, err := sets.Patch(ctx, at.Set, types.MergePatchType, []byte(body), metav1.PatchOptions{FieldManager: manager, DryRun: []string{metav1.DryRunAll}})
			return err
		}
	}
	fence := func(value string) string {
		return fmt.Sprintf(`{"metadata":{"annotations":{%q:%s}}`, api.FenceAnnotationKey, value)
	}
	return map[string]write{
		"a label":           patch("kubectl-label", `{"metadata":{"labels":{"a":"b"}}}`),
		"a new image":       patch("kubectl-edit", `{"spec":{"template":{"metadata":{"annotations":{"a":"b"}}}}}`),
		"the release":       patch("kubectl-annotate", fence("null")+"}"),
		"another fence":     patch("kubectl-patch", fence(`"other.9"`)+`,"spec":{"replicas":7}}`),
		"another migration": patch("sliceshift", `{"spec":{"replicas":7}}`),
		"the same number of replicas": func(ctx context.Context) error {
			scale, err := sets.GetScale(ctx, at.Set, metav1.GetOptions{})
			if err != nil {
				return err
			}
			_, err = sets.UpdateScale(ctx, at.Set, scale, metav1.UpdateOptions{DryRun: []string{metav1.DryRunAll}})
			return err
		},
	}
}
