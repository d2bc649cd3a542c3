package move

import (
	"context"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"

	slicesapi "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/e2e/fixture"
)

// TestOnCall: with the role sliceshift-migration-pauser a user can read and pause a Migration, and can gain no
// other access. A real API server answers each request.
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
	j.bind("shop", "sliceshift-migration-editor", "erin")
	j.knows("erin", "create migration.sliceshift.io/migrations")
	for _, user := range []string{"dana", "erin"} {
		for name, request := range j.ofPods(user) {
			j.run("K3/"+user+" may not "+name, func(j judged) { j.lacksRight(request) })
		}
	}
	for name, request := range j.ofOthers("dana") {
		j.run("K3/may not "+name, func(j judged) { j.lacksRight(request) })
	}
}

// ofPods returns requests that would give access to the rights of any pod of the namespace.
func (j judged) ofPods(user string) map[string]func(context.Context) error {
	c := j.as(user)
	pod := corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web"}}, Spec: fixture.App{}.StatefulSet().Spec.Template.Spec}
	named := metav1.ObjectMeta{Namespace: "shop", Name: "mine"}
	return map[string]func(context.Context) error{
		"run a set of our own kind": func(ctx context.Context) error {
			return c.Create(ctx, &slicesapi.StatefulSet{ObjectMeta: named, Spec: slicesapi.StatefulSetSpec{
				Selector: &metav1.LabelSelector{MatchLabels: pod.Labels}, ServiceName: "web", Template: pod,
			}}, client.DryRunAll)
		},
		"run a pod": func(ctx context.Context) error {
			return c.Create(ctx, &corev1.Pod{ObjectMeta: named, Spec: pod.Spec}, client.DryRunAll)
		},
		"list Secrets": func(ctx context.Context) error { return c.List(ctx, &corev1.SecretList{}, client.InNamespace("shop")) },
	}
}

// ofOthers returns requests that need more than the rights to read and pause Migrations.
func (j judged) ofOthers(user string) map[string]func(context.Context) error {
	c := j.as(user)
	return map[string]func(context.Context) error{
		"create": j.creates(user, migrationOf("new", "", "east", "west")),
		"delete": func(ctx context.Context) error {
			return c.Delete(ctx, migrationOf("old", "", "", ""), client.DryRunAll)
		},
		"delete all": func(ctx context.Context) error {
			return c.DeleteAllOf(ctx, &api.Migration{}, client.InNamespace("shop"), client.DryRunAll)
		},
		"write the status": func(ctx context.Context) error {
			return c.Status().Patch(ctx, migrationOf("old", "", "", ""), client.RawPatch("application/merge-patch+json", []byte(`{"status":{"observedGeneration":9}}`)), client.DryRunAll)
		},
		"bind a role": func(ctx context.Context) error {
			return c.Create(ctx, &rbacv1.RoleBinding{
				ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "more"}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "sliceshift-migration-editor"},
			}, client.DryRunAll)
		},
	}
}

// knows waits until the API server knows a right of a user in namespace shop. An earlier refusal proves
// nothing.
func (j judged) knows(user, right string) {
	j.t.Helper()
	j.must(fixture.AwaitRight(j.t.Context(), kubernetes.NewForConfigOrDie(j.RESTConfig()), rbacv1.Subject{Kind: rbacv1.UserKind, Name: user}, attributesOf(right, "shop")))
}

// forbids waits until a request is refused as forbidden with these texts.
func (j judged) forbids(request func(context.Context) error, says ...string) {
	j.t.Helper()
	j.eventually("it is forbidden", func(ctx context.Context) error {
		err := request(ctx)
		switch {
		case err == nil:
			return errLetThrough
		case !apierrors.IsForbidden(err):
			return err
		}
		for _, each := range says {
			if !strings.Contains(err.Error(), each) {
				return &lacks{err.Error(), each}
			}
		}
		return nil
	})
}

// lacksRight waits until a request is refused because its author lacks the right. A refusal by a policy, or by
// the API server's escalation check, does not prove a limit of a role.
func (j judged) lacksRight(request func(context.Context) error) {
	j.t.Helper()
	j.forbids(request, `" cannot `)
}
