package move

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	authorizationv1 "k8s.io/api/authorization/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/e2e/fixture"
	"github.com/sliceshift/sliceshift/e2e/harness"
	"github.com/sliceshift/sliceshift/migration/engine"
	"github.com/sliceshift/sliceshift/migration/plan"
)

// GitOps tools that track the source.
const (
	kustomization = `{"apiVersion":"kustomize.toolkit.fluxcd.io/v1","kind":"Kustomization","metadata":{"name":"writer"},"spec":{"suspend":false,"path":"./shop"}}`
	application   = `{"apiVersion":"argoproj.io/v1alpha1","kind":"Application","metadata":{"name":"writer"},"spec":{"project":"shop"}}`
)

var installTools = harness.OnceInBoth(func(at harness.Cluster) error {
	return errors.Join(define(definitionOf("kustomize.toolkit.fluxcd.io", "v1", "kustomizations", "Kustomization"))(at),
		define(definitionOf("argoproj.io", "v1alpha1", "applications", "Application"))(at))
})

// pausing returns a move of an application that three tools write. The move pauses them.
func pausing(t *testing.T, replicas int32) *move {
	t.Helper()
	v := newMove(t, harness.Usual(replicas), harness.AcrossClusters, harness.WithSpec(func(s *api.MigrationSpec) { s.Writers.Pause = true }))
	v.Must(installTools())
	v.writer(v.Here(), scaledObject, "team", "shop")
	v.writer(v.Here(), kustomization)
	v.writer(v.Here(), application)
	v.patchSource(fmt.Sprintf(`{"metadata":{"labels":{"kustomize.toolkit.fluxcd.io/name":"writer"},"annotations":{"argocd.argoproj.io/tracking-id":"%s_writer:apps/StatefulSet:%[1]s/web"}}}`, v.App.Namespace))
	v.Must(v.patchWriter(kustomization, fmt.Sprintf(`{"status":{"inventory":{"entries":[{"id":"%s_web_apps_StatefulSet","v":"v1"}]}}}`, v.App.Namespace)))
	v.Must(v.patchWriter(application, fmt.Sprintf(`{"status":{"resources":[{"group":"apps","kind":"StatefulSet","namespace":%q,"name":"web"}]}}`, v.App.Namespace)))
	v.awaitObserved()
	return v
}

// kept returns the stored tools without server-side metadata.
func (v *move) kept() map[string]map[string]any {
	v.T.Helper()
	from, _ := v.clients()
	all := map[string]map[string]any{}
	for _, text := range []string{scaledObject, kustomization, application} {
		object := &unstructured.Unstructured{}
		v.Must(object.UnmarshalJSON([]byte(text)))
		v.Must(from.Get(v.Ctx, client.ObjectKey{Namespace: v.App.Namespace, Name: "writer"}, object))
		annotations := object.GetAnnotations()
		if len(annotations) == 0 {
			annotations = nil
		}
		all[object.GetKind()] = map[string]any{"annotations": annotations, "spec": object.Object["spec"]}
	}
	return all
}

// writing returns the kinds of the tools that are not paused.
func (v *move) writing() []string {
	v.T.Helper()
	var found []string
	for kind, has := range v.kept() {
		annotations, _ := has["annotations"].(map[string]string)
		spec, _ := has["spec"].(map[string]any)
		paused := annotations["autoscaling.keda.sh/paused"] == "true" || annotations["argocd.argoproj.io/skip-reconcile"] == "true" || spec["suspend"] == true
		if !paused || annotations[api.WriterAnnotationKey] == "" {
			found = append(found, kind)
		}
	}
	return found
}

func (v *move) patchWriter(text, patch string) error {
	object := &unstructured.Unstructured{}
	if err := object.UnmarshalJSON([]byte(text)); err != nil {
		return err
	}
	object.SetNamespace(v.App.Namespace)
	from, _ := v.clients()
	return from.Patch(v.Ctx, object, client.RawPatch(types.MergePatchType, []byte(patch)))
}

// letsGo checks that no tool is writing when the move waits for the end of the pause, and then ends it.
func (v *move) letsGo(mover *fixture.Mover) harness.Report {
	return harness.StalledWith(api.ReasonWriterWouldRefill)(func() error {
		if writing := v.writing(); len(writing) > 0 {
			v.T.Errorf("everything has moved, and these write the source: %v", writing)
		}
		return rewrite(v.Ctx, mover, func(m *api.Migration) { m.Spec.Writers.Pause = false })
	})
}

// TestPauseWriters: other writers of the source are paused before its first ordinal is stopped. At the end they
// are exactly as before, after a move and after a rollback (I8, I9).
func TestPauseWriters(t *testing.T) {
	for name, mode := range map[string]api.Mode{"U-29: moved": api.ModeRun, "U-29: taken back": api.ModeRollback} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := pausing(t, 2)
			before := v.kept()
			mover := v.Mover()
			stopped := false
			v.Drive(mover, harness.OnVerb(plan.ScaleDown, func() error {
				stopped = true
				if writing := v.writing(); len(writing) > 0 {
					t.Errorf("in mid-move these write: %v", writing)
				}
				m, err := mover.Store.Load(v.Ctx)
				if err == nil && len(m.Status.PausedWriters) != 3 {
					t.Errorf("recorded are %+v", m.Status.PausedWriters)
				}
				return err
			}), harness.Arrival(1)(func() error {
				return rewrite(v.Ctx, mover, func(m *api.Migration) { m.Spec.Mode = mode })
			}), v.letsGo(mover))
			if !stopped {
				t.Error("nothing was stopped")
			}
			if diff := cmp.Diff(before, v.kept()); diff != "" {
				t.Errorf("they are not as they were (-want +got):\n%s", diff)
			}
			if m, err := mover.Store.Load(v.Ctx); err != nil || len(m.Status.PausedWriters) > 0 {
				t.Errorf("recorded are still %+v: %v", m.Status.PausedWriters, err)
			}
			v.Audit()
		})
	}
}

// readsWriters creates a user of the source's cluster who may move and read writers. It returns the user and
// the path of a kubeconfig.
func (v *move) readsWriters() (rbacv1.Subject, string) {
	v.T.Helper()
	v.Must(harness.Install())
	user := rbacv1.Subject{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: "reads-" + v.App.Namespace}
	for _, role := range fixture.MoverRoles {
		_, err := v.Source.RbacV1().ClusterRoleBindings().Create(v.Ctx, &rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: user.Name + "-" + role}, Subjects: []rbacv1.Subject{user},
			RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
		}, metav1.CreateOptions{})
		v.Must(err)
	}
	v.mayWriters(user, "get", "list")
	path, err := v.From.UserKubeconfig(user.Name)
	v.Must(err)
	return user, path
}

// mayWriters grants a user verbs for the writers of the source.
func (v *move) mayWriters(user rbacv1.Subject, verbs ...string) {
	v.T.Helper()
	name := "writers-" + verbs[0]
	_, err := v.Source.RbacV1().Roles(v.App.Namespace).Create(v.Ctx, &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: []rbacv1.PolicyRule{{
		APIGroups: []string{"keda.sh", "argoproj.io", "kustomize.toolkit.fluxcd.io"}, Resources: []string{"scaledobjects", "applications", "kustomizations"}, Verbs: verbs,
	}}}, metav1.CreateOptions{})
	v.Must(err)
	_, err = v.Source.RbacV1().RoleBindings(v.App.Namespace).Create(v.Ctx, &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name}, Subjects: []rbacv1.Subject{user}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name},
	}, metav1.CreateOptions{})
	v.Must(err)
	v.Must(fixture.AwaitRight(v.Ctx, v.Source, user, authorizationv1.ResourceAttributes{
		Verb: verbs[0], Group: "argoproj.io", Resource: "applications", Namespace: v.App.Namespace,
	}))
}

// TestRightsOverWriters: the preflight names each writer that the user may read but not patch. With the right,
// it reports nothing.
func TestRightsOverWriters(t *testing.T) {
	t.Parallel()
	v := pausing(t, 1)
	user, path := v.readsWriters()
	found := func() (messages []string) {
		for _, group := range v.preflight("--pause-writers", "--kubeconfig", path).Groups {
			for _, check := range group.Checks {
				for _, f := range check.Findings {
					if check.Check == "rights over writers" && f.Reason == api.ReasonPermissionMissing {
						messages = append(messages, f.Message)
					}
				}
			}
		}
		return messages
	}
	refused := strings.Join(found(), "\n")
	for _, want := range []string{"patch scaledobjects writer", "patch applications writer", "patch kustomizations writer"} {
		if !strings.Contains(refused, want) {
			t.Errorf("it is not told that it may not %s:\n%s", want, refused)
		}
	}
	v.mayWriters(user, "patch")
	if refused := found(); len(refused) > 0 {
		t.Errorf("with the right it is refused: %s", refused)
	}
}

// TestWriterIsHeld: a move is refused while a writer is paused for another migration, and begins after that is
// released.
func TestWriterIsHeld(t *testing.T) {
	t.Parallel()
	v := pausing(t, 1)
	v.Must(v.patchWriter(application, `{"metadata":{"annotations":{"`+api.WriterAnnotationKey+`":"another.1 paused"}}}`))
	held := false
	mover := v.Mover()
	v.Drive(mover, harness.StalledWith(api.ReasonWriterHeld)(func() error {
		held = true
		m, err := mover.Store.Load(v.Ctx)
		if err != nil {
			return err
		}
		if m.Status.Baseline != nil {
			t.Errorf("it has begun: %+v", m.Status)
		}
		return v.patchWriter(application, `{"metadata":{"annotations":{"`+api.WriterAnnotationKey+`":null}}}`)
	}), v.letsGo(mover))
	if !held {
		t.Error("nothing has refused it")
	}
	v.ExpectMovedCleanly()
	v.Audit()
}

// TestWriterWritesAgain: another user resumes a writer during the move. The next ordinal is not stopped, and
// the stall names the writer. The end of the move does not overwrite a setting that was changed meanwhile.
func TestWriterWritesAgain(t *testing.T) {
	t.Parallel()
	v := pausing(t, 3)
	held := false
	mover := v.Mover()
	v.Drive(mover, harness.Arrival(2)(func() error {
		return v.patchWriter(kustomization, `{"spec":{"suspend":false}}`)
	}), harness.StalledWith(api.ReasonWriterNotPaused)(func() error {
		held = true
		return v.patchWriter(kustomization, `{"spec":{"suspend":true}}`)
	}), harness.Arrival(0)(func() error {
		return v.patchWriter(scaledObject, `{"metadata":{"annotations":{"autoscaling.keda.sh/paused":"false"}}}`)
	}), harness.StalledWith(api.ReasonWriterWouldRefill)(func() error {
		return rewrite(v.Ctx, mover, func(m *api.Migration) { m.Spec.Writers.Pause = false })
	}))
	if !held {
		t.Error("nothing has held it")
	}
	got := v.kept()["ScaledObject"]["annotations"]
	if diff := cmp.Diff(map[string]string{"team": "shop", "autoscaling.keda.sh/paused": "false"}, got); diff != "" {
		t.Errorf("what somebody has set is written over (-want +got):\n%s", diff)
	}
	v.ExpectMovedCleanly()
	v.Audit()
}

// TestWriterStillScales: a paused ScaledObject still scales while its HorizontalPodAutoscaler exists. No
// ordinal is stopped until that is deleted (I1).
func TestWriterStillScales(t *testing.T) {
	t.Parallel()
	v := pausing(t, 2)
	object := &unstructured.Unstructured{}
	v.Must(object.UnmarshalJSON([]byte(scaledObject)))
	from, _ := v.clients()
	v.Must(from.Get(v.Ctx, client.ObjectKey{Namespace: v.App.Namespace, Name: "writer"}, object))
	scaler := &autoscalingv2.HorizontalPodAutoscaler{
		ObjectMeta: metav1.ObjectMeta{Namespace: v.App.Namespace, Name: "keda-hpa-writer", OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(object, object.GroupVersionKind())}},
		Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
			ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "StatefulSet", Name: v.App.Name}, MinReplicas: new(int32(1)), MaxReplicas: 2,
		},
	}
	scalers := v.Source.AutoscalingV2().HorizontalPodAutoscalers(v.App.Namespace)
	_, err := scalers.Create(v.Ctx, scaler, metav1.CreateOptions{})
	v.Must(err)
	waited := false
	mover := v.Mover()
	v.Drive(mover, func(_ *api.Migration, outcome engine.Outcome) error {
		hold := outcome.Decision.Hold
		if waited || hold == nil || hold.Reason != api.ReasonWriterNotPaused {
			return nil
		}
		waited = true
		return scalers.Delete(v.Ctx, scaler.Name, metav1.DeleteOptions{})
	}, harness.OnVerb(plan.ScaleDown, func() error {
		if !waited {
			t.Error("an ordinal is stopped, and KEDA scales it up again")
		}
		return nil
	}), v.letsGo(mover))
	v.ExpectMovedCleanly()
	v.Audit()
}
