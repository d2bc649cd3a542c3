package move

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sliceshift/sliceshift/e2e/fixture"
	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
	slicesapi "github.com/sliceshift/sliceshift/slices/v1alpha1"
)

// TestOnCall: with the role sliceshift-migration-pauser a Migration can be read and paused, and nothing else can be
// had by it: each request is one that a real API server answers.
func TestOnCall(t *testing.T) {
	t.Parallel()
	j := startJudged(t, "on-call")
	j.namespace("shop")
	j.bind("shop", "sliceshift-migration-pauser", "dana")
	old := migrationOf("old", "mover", "", "")
	j.must(j.client.Create(t.Context(), old))
	patch := func(body string) func(context.Context) error { return j.patches("dana", "old", body) }
	j.knows("dana", "patch migration.sliceshift.io/migrations")
	j.run("K3/may pause", func(j judged) {
		j.allows(patch(`{"spec":{"mode":"Pause"}}`))
		m := migrationOf("old", "", "", "")
		j.must(j.as("dana").Get(j.t.Context(), client.ObjectKeyFromObject(m), m))
		if m.Spec.Mode != api.ModePause {
			j.t.Errorf("the mode is %s", m.Spec.Mode)
		}
	})
	for name, body := range map[string]string{
		"resume": `{"spec":{"mode":"Run"}}`, "roll back": `{"spec":{"mode":"Rollback"}}`,
		"recover":         `{"spec":{"mode":"Recover","recovery":{"destinationIsOff":"x"}}}`,
		"another account": `{"spec":{"serviceAccountName":"admin"}}`, "a larger budget": `{"spec":{"maxUnavailable":3}}`,
		"a hook":                               `{"spec":{"hooks":[{"name":"a","point":"BeforeMigration","job":{"spec":{"template":{"spec":{"restartPolicy":"Never","containers":[{"name":"a","image":"a"}]}}}}}]}}`,
		"an owner, by whose end it is deleted": `{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"none","uid":"00000000-0000-0000-0000-000000000000"}]}}`,
	} {
		j.run("K3/may not "+name, func(j judged) { j.forbids(j.patches("dana", "old", body, client.DryRunAll)) })
	}
	pod := corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web"}}, Spec: fixture.App{}.StatefulSet().Spec.Template.Spec}
	set := &slicesapi.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "mine"},
		Spec:       slicesapi.StatefulSetSpec{Selector: &metav1.LabelSelector{MatchLabels: pod.Labels}, ServiceName: "web", Template: pod},
	}
	for _, user := range []string{"dana", "erin"} {
		if user == "erin" {
			j.bind("shop", "sliceshift-migration-editor", user)
			j.knows(user, "create migration.sliceshift.io/migrations")
		}
		c := j.as(user)
		j.run("K3/runs no pod: "+user, func(j judged) {
			j.forbids(func(ctx context.Context) error { return c.Create(ctx, set.DeepCopy(), client.DryRunAll) })
			j.forbids(func(ctx context.Context) error {
				return c.Create(ctx, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "mine"}, Spec: pod.Spec}, client.DryRunAll)
			})
			j.forbids(func(ctx context.Context) error { return c.List(ctx, &corev1.SecretList{}, client.InNamespace("shop")) })
		})
	}
	c := j.as("dana")
	j.run("K3/may not create or delete", func(j judged) {
		j.forbids(j.creates("dana", migrationOf("new", "", "east", "west")))
		j.forbids(func(ctx context.Context) error { return c.Delete(ctx, migrationOf("old", "", "", "")) })
		j.forbids(func(ctx context.Context) error {
			return c.DeleteAllOf(ctx, &api.Migration{}, client.InNamespace("shop"))
		})
		j.forbids(func(ctx context.Context) error {
			return c.Status().Patch(ctx, migrationOf("old", "", "", ""), client.RawPatch("application/merge-patch+json", []byte(`{"status":{"observedGeneration":9}}`)))
		})
		j.forbids(func(ctx context.Context) error {
			return c.Create(ctx, &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "more"}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "sliceshift-migration-editor"}})
		})
	})
}

// knows waits until the API server knows a right of a user in namespace shop: what is refused before says nothing.
func (j judged) knows(user, right string) {
	j.t.Helper()
	j.must(fixture.AwaitRight(j.t.Context(), kubernetes.NewForConfigOrDie(j.RESTConfig()), rbacv1.Subject{Kind: rbacv1.UserKind, Name: user}, attributesOf(right, "shop")))
}

// forbids waits until a request is refused as one that its author may not make.
func (j judged) forbids(request func(context.Context) error) {
	j.t.Helper()
	j.eventually("it is forbidden", func(ctx context.Context) error {
		err := request(ctx)
		switch {
		case err == nil:
			return errLetThrough
		case !apierrors.IsForbidden(err):
			return err
		}
		return nil
	})
}
